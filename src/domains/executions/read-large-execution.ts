import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { type Execution, summariseLargeTrace } from '../summaries/index.ts';
import { findExecutions } from './execution-queries.ts';

/** For a reader who asks before a large trace was summed up. */
const unsummarisedSpansMax = 20_000;

/**
 * The summary of a trace of more spans than a small one has: as it is listed, or of its earliest spans where it is not listed yet.
 * Undefined when the trace has no spans. Throws UnavailableError while the trace store is unavailable.
 */
export async function readLargeExecution(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<Execution | undefined> {
  const listed = (await findExecutions(clickhouse, projectId, [traceId])).get(traceId);
  const trace = { projectId, traceId, version: 0n };
  return listed ?? runClickHouse(() => summariseLargeTrace(clickhouse, trace, unsummarisedSpansMax));
}
