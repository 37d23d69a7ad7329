import { setMembersMax } from '../../lib/bound-set.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readLargeTrace } from '../spans/index.ts';
import type { Execution } from './execution.ts';
import { summariseExecution } from './summarise-execution.ts';

/**
 * So many spans of one trace are counted exactly, the earliest: some 100 bytes each leave the engine, and summing them up takes 2 s.
 * Of what is beyond, {@link Execution.totalsTruncated} says so.
 */
export const countedSpansMax = 200_000;

/**
 * Sums up a trace of any size by the one rule, {@link summariseExecution}: it is given what counting needs of every span, and texts
 * of only those spans that can stand for the trace. Takes seconds of a processor, so it runs in a thread. Undefined for a trace
 * without spans. Throws what ClickHouse throws.
 */
export async function summariseLargeTrace(
  clickhouse: ClickHouse,
  { projectId, traceId, version }: { projectId: string; traceId: string; version: bigint },
  spansMax = countedSpansMax,
): Promise<Execution | undefined> {
  const trace = await readLargeTrace(clickhouse, { projectId, traceId }, spansMax);
  if (trace === undefined) return undefined;
  const { totals, spans, isCut } = trace;
  const execution = summariseExecution(projectId, spans, version);
  return {
    ...execution,
    receivedAtMs: totals.receivedAtMs,
    startUnixNano: BigInt(totals.startNano),
    endUnixNano: BigInt(totals.endNano),
    complete: totals.hasRoot,
    spanCount: totals.spans,
    errorCount: totals.errors,
    spansSentOnce: false,
    totalsTruncated: isCut,
    tags: totals.tags,
    omitted: { ...execution.omitted, tags: Math.max(0, totals.tagsDistinct - setMembersMax) },
  };
}
