import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { FairLane } from '../../lib/fair-lane.ts';
import type { LogProjects } from '../../queue/log-projects.ts';
import { type SummaryProject, summaryProjects } from '../../queue/summary-list.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { SummarizedInThread, SummaryTask } from './summary-thread.ts';
import { SummaryTurns } from './summary-turns.ts';

const lookEveryMs = 250;
const threadsMax = 2;
/** Enough for 200,000 spans. */
const threadHeapMbMax = 1_024;
/** The largest trace takes under a minute. A thread that was never started takes forever. */
const threadMsMax = 300_000;

export interface SummaryLaneDeps {
  clickhouse: ClickHouse;
  clickhouseUrl: string;
  redis: Redis;
  logProjects: LogProjects;
  logger: Logger;
}

/**
 * Works through the list of summaries. Shared by all workspaces: two have a turn at a time, each with
 * one trace at a time; others wait in order. A turn ends with the trace in progress after one second.
 * Small traces are read here in small groups, large ones in a thread, so that the event loop stays
 * free.
 */
export function startSummaryLane(deps: SummaryLaneDeps): { close: () => Promise<void> } {
  const stopping = new AbortController();
  const threads = new Piscina<SummaryTask, SummarizedInThread>({
    filename: new URL(import.meta.url.endsWith('.ts') ? './summary-thread.ts' : './summary-thread.js', import.meta.url)
      .href,
    name: 'summarizeInThread',
    workerData: { clickhouseUrl: deps.clickhouseUrl },
    minThreads: 0,
    maxThreads: threadsMax,
    idleTimeout: 30_000,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMbMax },
  });
  // When a thread dies, its task rejects. Without this listener the `error` event would end the
  // process.
  threads.on('error', () => undefined);
  const turns = new SummaryTurns(deps, (task) => threads.run(task, { signal: AbortSignal.timeout(threadMsMax) }));
  const done = look(deps, turns, stopping.signal);
  return {
    async close() {
      stopping.abort();
      await done;
      await threads.destroy();
    },
  };
}

/** Begins a turn for every workspace with traces on the list, unless it already has one. */
async function look({ redis, logger }: SummaryLaneDeps, turns: SummaryTurns, stopping: AbortSignal): Promise<void> {
  const lane = new FairLane({
    name: 'summaries',
    capacity: threadsMax,
    perKey: 1,
    waitingPerKey: 1,
    waitingMax: Number.POSITIVE_INFINITY,
  });
  const busy = new Set<string>();
  while (!stopping.aborted) {
    const projects = await summaryProjects(redis).catch(() => []);
    for (const [workspaceId, own] of byWorkspace(projects)) {
      if (busy.has(workspaceId) || stopping.aborted) continue;
      busy.add(workspaceId);
      void lane
        .run(workspaceId, () => turns.take(own, stopping), { waiter: { signal: stopping } })
        .catch(
          (error: unknown) =>
            stopping.aborted || logger.warn({ err: error }, 'the list of summaries could not be processed'),
        )
        .finally(() => busy.delete(workspaceId));
    }
    await sleep(lookEveryMs, undefined, { signal: stopping }).catch(() => undefined);
  }
}

function byWorkspace(projects: readonly SummaryProject[]): Map<string, SummaryProject[]> {
  const workspaces = new Map<string, SummaryProject[]>();
  for (const project of projects) {
    const own = workspaces.get(project.workspaceId);
    if (own === undefined) workspaces.set(project.workspaceId, [project]);
    else own.push(project);
  }
  return workspaces;
}
