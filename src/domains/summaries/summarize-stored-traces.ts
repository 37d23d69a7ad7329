import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readEngineClock } from '../../stores/clickhouse/statements.ts';
import { countTraceRows, findLightSpans } from '../spans/index.ts';
import type { SummarizedExecution } from './execution.ts';
import { groupByTrace } from './group-traces.ts';
import { summarizeExecutions } from './summarize-execution.ts';
import { summarizeLargeTrace } from './summarize-large-trace.ts';

/** A trace with more rows is large and is not read where other work waits for it. */
export const smallTraceRowsMax = 2_000;
/**
 * Very long texts must not block the event loop: a larger read fails, and its traces are read
 * elsewhere.
 */
const resultBytesMax = 12 * 1024 * 1024;

/**
 * Reads small traces completely and summarizes them.
 * @throws TooLargeError when the texts exceed what is read at a time
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function summarizeSmallTraces(
  clickhouse: ClickHouse,
  { projectId, traceIds, version }: { projectId: string; traceIds: readonly string[]; version: bigint },
): Promise<SummarizedExecution[]> {
  const spans = await findLightSpans(clickhouse, projectId, traceIds, { max_result_bytes: String(resultBytesMax) });
  return summarizeExecutions(projectId, groupByTrace(spans), version);
}

/**
 * Summarizes a stored trace of any size. Undefined when it has no spans.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function summarizeStoredTrace(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<SummarizedExecution | undefined> {
  const version = await readEngineClock(clickhouse);
  const rows = (await countTraceRows(clickhouse, projectId, [traceId])).get(traceId) ?? 0;
  if (rows === 0) return undefined;
  if (rows <= smallTraceRowsMax) {
    // If the texts are too long for this read, the read of a large trace needs fewer of them.
    const small = await summarizeSmallTraces(clickhouse, { projectId, traceIds: [traceId], version }).catch(() => []);
    if (small[0] !== undefined) return small[0];
  }
  return summarizeLargeTrace(clickhouse, { projectId, traceId, version });
}
