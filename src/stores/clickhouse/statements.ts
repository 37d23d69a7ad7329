import type { CommandParams } from '@clickhouse/client';
import type { ClickHouse, ClickHouseSettings } from './client.ts';
import { recognizeClickHouseError } from './errors.ts';
import type { RowReader } from './row-reader.ts';

/** A query, its parameters and settings, and whether its rows are objects or arrays. */
export interface RowQuery {
  query: string;
  query_params?: Record<string, unknown>;
  clickhouse_settings?: ClickHouseSettings;
  abort_signal?: AbortSignal;
  format: 'JSONEachRow' | 'JSONCompactEachRow';
}

/**
 * Runs a query and returns its rows. ClickHouse can also fail after it has begun to answer; such an
 * error is treated alike.
 * @throws UnavailableError when ClickHouse is unavailable, completely or in part, or the query
 * times out
 * @throws TooLargeError when a limit on rows or bytes is exceeded
 */
export async function readRows<Row>(clickhouse: ClickHouse, query: RowQuery): Promise<Row[]> {
  try {
    const result = await clickhouse.query(query);
    return await result.json<Row>();
  } catch (error) {
    throw recognizeClickHouseError(error);
  }
}

/**
 * Runs a query that selects the columns of `reader` and returns its rows.
 * @throws the errors of {@link readRows}
 */
export async function readFields<Row>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  query: Omit<RowQuery, 'format'>,
): Promise<Row[]> {
  const rows = await readRows<unknown[]>(clickhouse, { ...query, format: 'JSONCompactEachRow' });
  return rows.map(reader.decode);
}

/** A row, and the length of its JSON in UTF-16 units. */
export interface StreamedRow<Row> {
  row: Row;
  length: number;
}

/**
 * Runs a query that selects the columns of `reader` and yields its rows as they arrive, without
 * holding all of them.
 * @throws the errors of {@link readRows}
 */
export async function* streamFields<Row>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  query: Omit<RowQuery, 'format'>,
): AsyncGenerator<StreamedRow<Row>> {
  try {
    const result = await clickhouse.query({ ...query, format: 'JSONCompactEachRow' });
    for await (const rows of result.stream<unknown[]>()) {
      for (const row of rows) yield { row: reader.decode(row.json()), length: row.text.length };
    }
  } catch (error) {
    throw recognizeClickHouseError(error);
  }
}

/**
 * Runs a statement that returns no rows.
 * @throws UnavailableError when ClickHouse is unavailable, completely or in part
 */
export async function runStatement(clickhouse: ClickHouse, statement: CommandParams): Promise<void> {
  try {
    await clickhouse.command(statement);
  } catch (error) {
    throw recognizeClickHouseError(error);
  }
}
