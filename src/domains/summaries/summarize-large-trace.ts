import { boundSet } from '../../lib/bound-set.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readLargeTrace } from '../spans/index.ts';
import type { SummarizedExecution } from './execution.ts';
import { summarizeExecution } from './summarize-execution.ts';

/**
 * The earliest spans of one trace that are counted exactly. ClickHouse sends about 100 bytes for
 * each, and summarizing them takes 2 s. {@link Execution.totalsTruncated} shows whether a trace has
 * more.
 */
export const countedSpansMax = 200_000;

/**
 * Summarizes a trace of any size with {@link summarizeExecution}. Only spans that can represent the
 * trace are read with their texts. Takes seconds of CPU time, so it runs in a thread. Undefined for
 * a trace without spans.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function summarizeLargeTrace(
  clickhouse: ClickHouse,
  { projectId, traceId, version }: { projectId: string; traceId: string; version: bigint },
  spansMax = countedSpansMax,
): Promise<SummarizedExecution | undefined> {
  const trace = await readLargeTrace(clickhouse, { projectId, traceId }, spansMax);
  if (trace === undefined) return undefined;
  const { totals, spans, isCut } = trace;
  const execution = summarizeExecution(projectId, spans, version);
  const tags = boundSet(trace.tags, (tag) => tag.length).kept;
  return {
    ...execution,
    receivedAtMs: totals.receivedAtMs,
    normalizerVersion: totals.normalizerVersion,
    startUnixNano: BigInt(totals.startNano),
    endUnixNano: BigInt(totals.endNano),
    complete: totals.hasRoot,
    spanCount: totals.spans,
    errorCount: totals.errors,
    spansSentOnce: false,
    totalsTruncated: isCut,
    tags,
    omitted: { ...execution.omitted, tags: Math.max(0, totals.tagsDistinct - tags.length) },
  };
}
