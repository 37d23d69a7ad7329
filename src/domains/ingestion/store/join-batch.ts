import { countLogs } from '../../../queue/log-counts.ts';
import { listForSummary } from '../../../queue/summary-list.ts';
import { lastSettings } from '../../../stores/clickhouse/client.ts';
import { type JoinTime, joinAtOnce } from '../../log-records/reads.ts';
import { countTraceRows } from '../../spans/index.ts';
import type { BatchEntry } from './span-batcher.ts';
import type { SummarizeBatchDeps } from './summarize-batch.ts';
import { tracesOfBatch } from './traces-of-batch.ts';

/**
 * Joins the log records of the batch, which are confirmed, with the spans that are stored, and puts
 * their traces on the list of summaries. What is large, too much at once, or fails is joined there.
 * Records without a stored span wait: the worker that stores the span looks for them. Of these traces, none that
 * was looked up is on the list, which the rate and the quota of spans bound.
 * A body that was begun before may have been joined by a worker that was killed before it put the traces on the list:
 * they lack nothing, and are listed if they have spans.
 * A project whose records cannot be looked up does not affect the others.
 * @throws the error of Redis; the jobs are then tried again
 */
export async function joinBatch(deps: SummarizeBatchDeps, entries: readonly BatchEntry[]): Promise<void> {
  let waiting = 0;
  const time: JoinTime = new Map();
  const repeated = new Set(
    entries.flatMap(({ isRepeated, encoded }) => (isRepeated ? encoded.traces.map(({ traceId }) => traceId) : [])),
  );
  for (const project of await tracesOfBatch(entries)) {
    const { projectId, traces, rows } = project;
    const { lacking, unseen } = await joinAtOnce(deps, project, [...traces.keys()], time).catch((error: unknown) => {
      deps.logger.warn({ err: error, project_id: projectId }, 'log records could not be looked up');
      return { lacking: [] as string[], unseen: [...traces.keys()] };
    });
    waiting += rows;
    const unknown = new Set([...unseen, ...[...traces.keys()].filter((traceId) => repeated.has(traceId))]);
    for (const traceId of lacking) unknown.delete(traceId);
    const traceIds = lacking.concat(await withSpans(deps, projectId, [...unknown]));
    if (traceIds.length === 0) continue;
    await listForSummary(deps.redis, project, traceIds);
    for (const traceId of traceIds) waiting -= traces.get(traceId)?.rows ?? 0;
  }
  await countLogs(deps.redis, { waiting });
}

/** Traces of a project that are looked up, which takes some tenths of a second at most. The others are listed. */
const lookedUpMax = 5_000;
const lookUpSettings = { ...lastSettings, max_execution_time: 2 };

/**
 * Returns those of the traces that have stored spans, and those that were not looked up, because they are too many or
 * ClickHouse does not tell in time.
 */
async function withSpans(
  { clickhouse, logger }: SummarizeBatchDeps,
  projectId: string,
  traceIds: readonly string[],
): Promise<string[]> {
  if (traceIds.length === 0) return [];
  try {
    const [some, others] = [traceIds.slice(0, lookedUpMax), traceIds.slice(lookedUpMax)];
    return [...(await countTraceRows(clickhouse, projectId, some, lookUpSettings)).keys(), ...others];
  } catch (error) {
    logger.warn({ err: error, project_id: projectId }, 'spans of log records could not be looked up');
    return [...traceIds];
  }
}
