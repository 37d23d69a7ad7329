import { FairLane } from '../../lib/fair-lane.ts';
import type { LogProjects } from '../../queue/log-projects.ts';
import {
  endSummary,
  failSummary,
  leaseSummaries,
  listForSummary,
  releaseSummaries,
  renewSummaries,
  type SummaryLease,
  type SummaryProject,
} from '../../queue/summary-list.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readEngineClock } from '../../stores/clickhouse/statements.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { loadLogRecords } from '../log-records/index.ts';
import { countTraceRows } from '../spans/index.ts';
import { insertExecutions } from './execution-row.ts';
import { groupByRows } from './group-traces.ts';
import { smallTraceRowsMax, summarizeSmallTraces } from './summarize-stored-traces.ts';
import type { SummarizedInThread, SummaryTask } from './summary-thread.ts';

/** Workspaces that have a turn at once, and as many whose traces are read alone. */
export const turnsAtOnce = 2;
/** Traces of one project that are leased at a time. */
const tracesPerLease = 200;
/** After this time a turn begins no further trace, and after as much again none that is read alone. */
const turnMsMax = 1_000;
/** Well within the 15 s of a lease. */
const renewEveryMs = 4_000;
/** Traces that were not worked on become due again after this time. */
const releaseMs = 500;
/**
 * Milliseconds of rest per millisecond of work. So a large, growing trace is read for a sixth of
 * the time, however often spans arrive. Its summary is at most 10 s behind.
 */
const restPerMs = 5;
const restMsMax = 10_000;
const logEveryMs = 60_000;
/** After this time of reading traces alone, the rest of the traces of a project with log records is left for later. */
const joinMsMax = 500;

export interface SummaryTurnsDeps {
  clickhouse: ClickHouse;
  redis: Redis;
  logProjects: LogProjects;
  logger: Logger;
}

/**
 * Whether a turn begins no further trace. While nothing of a lease is `done`, time alone does not end it: otherwise
 * turn after turn could end without a summary.
 */
type IsOver = (done?: number) => boolean;

/** Leased traces of a turn that are not summarized yet. Their lease is renewed until they are released. */
interface Left {
  lease: SummaryLease;
  traceIds: Set<string>;
  hasLogs: boolean;
  renewal: NodeJS.Timeout;
}

/**
 * The turns of workspaces. All share them: two have a turn at a time, and two have traces read alone, one at a time;
 * others wait in order. So a trace that takes ten seconds delays the small traces of its own workspace only. Remembers
 * when it last logged a failure.
 */
export class SummaryTurns {
  readonly #turns = laneOf('summaries');
  readonly #alone = laneOf('summaries of large traces');
  readonly #deps: SummaryTurnsDeps;
  readonly #runInThread: (task: SummaryTask) => Promise<SummarizedInThread>;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SummaryTurnsDeps, runInThread: (task: SummaryTask) => Promise<SummarizedInThread>) {
    this.#deps = deps;
    this.#runInThread = runInThread;
  }

  /**
   * Summarizes the traces of a workspace's projects that are due: small ones for about one second, then large ones of
   * one project for about as long.
   * @throws the error of Redis
   */
  async take(workspaceId: string, projects: readonly SummaryProject[], stopping: AbortSignal): Promise<void> {
    const options = { waiter: { signal: stopping } };
    const left = await this.#turns.run(workspaceId, () => this.#summarizeDue(projects, stopping), options);
    if (left === undefined) return;
    const end = this.#alone.run(workspaceId, () => this.#summarizeLarge(left, stopping), options);
    await end.finally(() => this.#release(left));
  }

  /** Begins with any project, because one may have enough for each turn. Ends with one that has traces to be read alone. */
  async #summarizeDue(projects: readonly SummaryProject[], stopping: AbortSignal): Promise<Left | undefined> {
    const endMs = performance.now() + turnMsMax;
    const isOver: IsOver = (done = 1) => stopping.aborted || (done > 0 && performance.now() > endMs);
    const from = Math.floor(Math.random() * projects.length);
    let open = [...projects.slice(from), ...projects.slice(0, from)];
    while (open.length > 0) {
      const more: SummaryProject[] = [];
      for (const project of open) {
        if (isOver()) return undefined;
        const lease = await leaseSummaries(this.#deps.redis, project, tracesPerLease);
        if (lease.traceIds.length === 0) continue;
        const left = await this.#workOff(lease, isOver);
        if (left === undefined) continue;
        const done = lease.traceIds.length - left.traceIds.size;
        if (left.traceIds.size > 0 && !isOver(done)) return left;
        await this.#release(left);
        if (left.traceIds.size === 0 && done === tracesPerLease) more.push(project);
      }
      open = more;
    }
    return undefined;
  }

  /** Summarizes the small traces of one lease. Resolves to what is left, and to undefined if it failed. */
  async #workOff(lease: SummaryLease, isOver: IsOver): Promise<Left | undefined> {
    const traceIds = new Set(lease.traceIds);
    const renewal = setInterval(() => {
      // A failed renewal is ignored: a second worker on the same traces does no harm.
      renewSummaries(this.#deps.redis, lease, [...traceIds]).catch(() => undefined);
    }, renewEveryMs);
    const left = { lease, traceIds, hasLogs: true, renewal };
    try {
      left.hasLogs = (await this.#deps.logProjects.among([lease.projectId])).size > 0;
      await this.#summarizeSmall(left, isOver);
      return left;
    } catch (error) {
      this.#log(error, lease);
      await this.#release(left);
      return undefined;
    }
  }

  /** Reads each trace alone, at least one. */
  async #summarizeLarge({ lease, traceIds, hasLogs }: Left, stopping: AbortSignal): Promise<void> {
    const endMs = performance.now() + turnMsMax;
    let aloneMs = 0;
    for (const traceId of traceIds) {
      aloneMs += await this.#summarizeAlone(lease, traceId, hasLogs);
      traceIds.delete(traceId);
      // Joining reads records again and again. The other traces are due after a rest that holds no turn.
      if (stopping.aborted || performance.now() > endMs || (hasLogs && aloneMs > joinMsMax)) return;
    }
  }

  async #release({ lease, traceIds, renewal }: Left): Promise<void> {
    clearInterval(renewal);
    await releaseSummaries(this.#deps.redis, lease, [...traceIds], releaseMs);
  }

  /**
   * Summarizes small traces in small groups and removes them from those left. A group that fails stays,
   * so that each of its traces is tried alone. So does a trace with many log records to join. The
   * groups that have not begun when the turn is over stay as well; the first one always begins.
   */
  async #summarizeSmall({ lease, traceIds: left, hasLogs }: Left, isOver: IsOver): Promise<void> {
    const { clickhouse, redis } = this.#deps;
    const { projectId } = lease;
    const unjoined = hasLogs ? await this.#joinSmall(lease) : new Set<string>();
    const version = await readEngineClock(clickhouse);
    const rows = await countTraceRows(clickhouse, projectId, lease.traceIds);
    const small = lease.traceIds
      .map((id) => [id, rows.get(id) ?? 0] as const)
      .filter(([id, n]) => n <= smallTraceRowsMax && !unjoined.has(id));
    for (const [index, traceIds] of groupByRows(new Map(small)).entries()) {
      if (isOver(index)) return;
      try {
        const executions = await summarizeSmallTraces(clickhouse, { projectId, traceIds, version });
        await insertExecutions(clickhouse, executions);
      } catch (error) {
        this.#log(error, lease);
        continue;
      }
      await Promise.all(traceIds.map((traceId) => endSummary(redis, lease, traceId, 0)));
      for (const traceId of traceIds) left.delete(traceId);
    }
  }

  /** Joins the log records of the traces. Returns the traces that must be joined alone. */
  async #joinSmall(lease: SummaryLease): Promise<ReadonlySet<string>> {
    try {
      const { joinHere, joinRecords } = await loadLogRecords();
      const { large, later } = await joinRecords(this.#deps.clickhouse, lease, joinHere);
      return new Set([...large, ...later]);
    } catch (error) {
      this.#log(error, lease);
      return new Set(lease.traceIds);
    }
  }

  async #summarizeAlone(lease: SummaryLease, traceId: string, hasLogs: boolean): Promise<number> {
    const { redis } = this.#deps;
    try {
      const { tookMs, isLeft, joined } = await this.#runInThread({ projectId: lease.projectId, traceId, hasLogs });
      const restMs = Math.min(tookMs * restPerMs, restMsMax);
      // A join that comes no further is tried again after a pause that grows.
      if (isLeft && joined === 0) {
        await failSummary(redis, lease, traceId);
        return tookMs;
      }
      // A leased trace that is added again becomes due after its rest.
      if (isLeft) await listForSummary(redis, lease, [traceId]);
      await endSummary(redis, lease, traceId, restMs);
      return tookMs;
    } catch (error) {
      this.#log(error, lease);
      await failSummary(redis, lease, traceId);
      return 0;
    }
  }

  #log(error: unknown, { projectId }: SummaryLease): void {
    if (performance.now() - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = performance.now();
    this.#deps.logger.error({ err: error, project_id: projectId }, 'an execution could not be summarized');
  }
}

function laneOf(name: string): FairLane {
  const waiting = { waitingPerKey: 1, waitingMax: Number.POSITIVE_INFINITY };
  return new FairLane({ name, capacity: turnsAtOnce, perKey: 1, ...waiting });
}
