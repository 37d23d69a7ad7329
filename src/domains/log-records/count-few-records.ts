import { TooLargeError } from '../../lib/errors.ts';
import { type ClickHouse, type ClickHouseSettings, fewJoined, joinSettings } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { countRecords, type RecordCount, type RecordsToCount } from './count-records.ts';

/** Records of a few traces that are counted while others wait. ClickHouse takes about 0.1 s. */
const recordsMax = 100_000;
/**
 * Rows that the index may leave for each of more traces, and for all of them at least: in many data parts, it leaves a
 * thousand of each part for each trace. ClickHouse counts so many in about 0.2 s.
 */
const rowsPerTraceMax = 50_000;
const rowsMin = 5_000_000;

/**
 * Returns what {@link countRecords} returns, unless counting takes long.
 * @throws TooLargeError when there are too many records; fewer traces or spans may have fewer
 * @throws UnavailableError while ClickHouse is unavailable, or after the time in `settings`
 */
export async function countFewRecords(
  clickhouse: ClickHouse,
  projectId: string,
  wanted: RecordsToCount,
  settings: ClickHouseSettings = {},
): Promise<RecordCount[]> {
  const { traceIds } = wanted;
  const areFew = traceIds.length <= fewJoined.rows;
  try {
    const rowsMax = areFew ? recordsMax : Math.max(rowsMin, rowsPerTraceMax * traceIds.length);
    return await countRecords(clickhouse, projectId, wanted, { ...settings, max_rows_to_read: String(rowsMax) });
  } catch (error) {
    if (!(error instanceof TooLargeError) || !areFew) throw error;
    // The index leaves at least a thousand rows of each data part. In many parts, few records seem many.
    if ((await countRows(clickhouse, projectId, traceIds)) > recordsMax) throw error;
  }
  return countRecords(clickhouse, projectId, wanted, settings);
}

/** Counts the rows of a few traces. For `=`, unlike for `IN`, ClickHouse takes most of the number from its index. */
async function countRows(clickhouse: ClickHouse, projectId: string, traceIds: readonly string[]): Promise<number> {
  const isOne = traceIds.map((_, index) => `trace_id = toFixedString(unhex({trace${index}:String}), 16)`);
  const [counted] = await readRows<{ rows: number }>(clickhouse, {
    query: `SELECT count()::Float64 AS rows FROM log_records
            PREWHERE project_id = {projectId:String} AND (${isOne.join(' OR ')})`,
    query_params: { projectId, ...Object.fromEntries(traceIds.map((id, index) => [`trace${index}`, id])) },
    clickhouse_settings: {
      ...joinSettings(traceIds.length, 0),
      // Otherwise it makes `IN` of them.
      optimize_min_equality_disjunction_chain_length: String(traceIds.length + 1),
    },
    format: 'JSONEachRow',
  });
  return counted?.rows ?? 0;
}
