import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { rowsOf } from './span-detail-queries.ts';
import type { TraceKey } from './trace-sql.ts';
import { ofTrace } from './trace-sql.ts';

/** The work on so many rows, and so many bytes of them, takes some 20 ms; a trace that has more is read in a thread. */
export const rowsHereMax = 1_000;

/** A trace has too many rows to be read without holding up everybody else: it is read in a thread. */
export class LargeTraceError extends Error {
  constructor() {
    super(`The trace has over ${rowsHereMax} rows`);
  }
}

/** The rows, of which one more than {@link rowsHereMax} was asked for. Throws LargeTraceError when there are as many. */
export function assertSmall<Row>(rows: readonly Row[]): readonly Row[] {
  if (rows.length > rowsHereMax) throw new LargeTraceError();
  return rows;
}

/** How many rows a trace has, those included that a resend has replaced. Throws UnavailableError. */
export async function countRows(clickhouse: ClickHouse, trace: TraceKey): Promise<number> {
  const query = `SELECT count()::Float64 FROM spans WHERE ${ofTrace}`;
  const [row] = await rowsOf<[number]>(clickhouse, query, { ...trace }, 'JSONCompactEachRow');
  return row?.[0] ?? 0;
}
