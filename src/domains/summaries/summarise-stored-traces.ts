import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { countTraceRows, findLightSpans, readEngineClock } from '../spans/index.ts';
import type { Execution } from './execution.ts';
import { groupByTrace } from './group-by-trace.ts';
import { summariseExecution } from './summarise-execution.ts';
import { summariseLargeTrace } from './summarise-large-trace.ts';

/** A trace of more rows is a large one: it is not read where others wait for it. */
export const smallTraceRowsMax = 2_000;
/** Texts of hostile length are no reason to hold the event loop: a read that is larger fails, and its traces go elsewhere. */
const resultBytesMax = 12 * 1024 * 1024;

/** Reads small traces whole and sums them up. Throws what ClickHouse throws, 396 for texts beyond what is read at once. */
export async function summariseSmallTraces(
  clickhouse: ClickHouse,
  { projectId, traceIds, version }: { projectId: string; traceIds: readonly string[]; version: bigint },
): Promise<Execution[]> {
  const spans = await findLightSpans(clickhouse, projectId, traceIds, { max_result_bytes: String(resultBytesMax) });
  return [...groupByTrace(spans)].map((trace) => summariseExecution(projectId, trace, version));
}

/** Sums up a trace of any size from the store. Undefined when it has no spans. Throws what ClickHouse throws. */
export async function summariseStoredTrace(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<Execution | undefined> {
  const version = await readEngineClock(clickhouse);
  const rows = (await countTraceRows(clickhouse, projectId, [traceId])).get(traceId) ?? 0;
  if (rows === 0) return undefined;
  if (rows <= smallTraceRowsMax) {
    // Where this fails for the length of texts, the other way reads less of them.
    const small = await summariseSmallTraces(clickhouse, { projectId, traceIds: [traceId], version }).catch(() => []);
    if (small[0] !== undefined) return small[0];
  }
  return summariseLargeTrace(clickhouse, { projectId, traceId, version });
}
