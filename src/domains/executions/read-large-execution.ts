import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { type Execution, summarizeLargeTrace } from '../summaries/index.ts';
import { findExecutions } from './execution-queries.ts';

/**
 * Number of spans to summarize when a reader requests a large trace before its summary is stored.
 */
const unsummarizedSpansMax = 20_000;

/**
 * Returns the summary of a large trace: the stored one, or a summary of its earliest spans if none
 * is stored yet. Returns undefined when the trace has no spans.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readLargeExecution(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<Execution | undefined> {
  const listed = (await findExecutions(clickhouse, projectId, [traceId])).get(traceId);
  const trace = { projectId, traceId, version: 0n };
  return listed ?? summarizeLargeTrace(clickhouse, trace, unsummarizedSpansMax);
}
