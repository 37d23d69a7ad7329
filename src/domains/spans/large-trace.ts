import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { plain, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { rowsOf } from '../../stores/clickhouse/statements.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';

/** Rows read without a thread: the work takes about 20 ms. A larger trace is read in a thread. */
export const rowsHereMax = 1_000;

/**
 * A trace has too many rows, or too long texts, to be read without blocking other requests. It must be
 * read in a thread.
 */
export class LargeTraceError extends Error {
  constructor() {
    super(`The trace has more than ${rowsHereMax} rows, or too long texts, for the main thread`);
  }
}

/**
 * Returns the rows. The caller asks for at most one row more than {@link rowsHereMax}.
 * @throws LargeTraceError when there are more than {@link rowsHereMax}
 */
export function assertSmall<Row>(rows: readonly Row[]): readonly Row[] {
  if (rows.length > rowsHereMax) throw new LargeTraceError();
  return rows;
}

const counts = rowReader({ rows: plain<number>('count()::Float64') });

/**
 * Returns how many rows a trace has, including rows that a resend replaced.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function countRows(clickhouse: ClickHouse, trace: TraceKey): Promise<number> {
  const query = `SELECT ${counts.columns} FROM spans WHERE ${ofTrace}`;
  const [row] = await rowsOf(clickhouse, counts, query, { ...trace });
  return row?.rows ?? 0;
}
