import { type CommandParams, ResultSet, type Row as RowOfAnswer } from '@clickhouse/client';
import { oneTurn, Pace } from '../../lib/pace.ts';
import type { ClickHouse, ClickHouseSettings } from './client.ts';
import { clickHouseAway, recognizeClickHouseError, recognizeReadError, resultTooLarge } from './errors.ts';
import type { RowReader } from './row-reader.ts';

/** A query, its parameters and settings, and whether its rows are objects or arrays. */
export interface RowQuery {
  query: string;
  query_params?: Record<string, unknown>;
  clickhouse_settings?: ClickHouseSettings;
  abort_signal?: AbortSignal;
  /** More bytes of JSON are refused. ClickHouse counts bytes in memory, of which JSON can have six for each. */
  jsonBytesMax?: number;
  format: 'JSONEachRow' | 'JSONCompactEachRow';
}

/**
 * Runs a query and returns its rows. ClickHouse can also fail after it has begun to answer; such an
 * error is treated alike.
 * @throws UnavailableError when ClickHouse is unavailable, completely or in part, or the query
 * times out
 * @throws TooLargeError `result_too_large` when a limit on rows or bytes is exceeded
 */
export function readRows<Row>(clickhouse: ClickHouse, query: RowQuery): Promise<Row[]> {
  return read<Row, Row>(clickhouse, query, (row) => row);
}

/**
 * Runs a query that selects the columns of `reader` and returns its rows.
 * @throws the errors of {@link readRows}
 */
export function readFields<Row>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  query: Omit<RowQuery, 'format'>,
): Promise<Row[]> {
  return read<unknown[], Row>(clickhouse, { ...query, format: 'JSONCompactEachRow' }, reader.decode);
}

/** Other work runs between rows, because many rows take longer than it should wait. */
async function read<Json, Row>(clickhouse: ClickHouse, query: RowQuery, decode: (json: Json) => Row): Promise<Row[]> {
  const found: Row[] = [];
  const pace = new Pace(oneTurn);
  for await (const rows of answerTo(clickhouse, query)) {
    for (const row of rows) {
      found.push(decode(parse(row)));
      const resting = pace.rest();
      if (resting !== undefined) await resting;
    }
  }
  return found;
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
  for await (const rows of answerTo(clickhouse, { ...query, format: 'JSONCompactEachRow' })) {
    for (const row of rows) yield { row: reader.decode(parse(row)), length: row.text.length };
  }
}

const newline = 0x0a;

/**
 * Yields the rows of an answer as they arrive. The client would ignore a last row without its end, so the answer is
 * read here: a proxy that ends it within a row is an error.
 */
async function* answerTo(clickhouse: ClickHouse, query: RowQuery): AsyncGenerator<RowOfAnswer[]> {
  const { format, jsonBytesMax = Number.POSITIVE_INFINITY, ...params } = query;
  let bytes = 0;
  let lastByte: number | undefined = newline;
  try {
    const answer = await clickhouse.exec({ ...params, query: `${params.query}\nFORMAT ${format}` });
    answer.stream.on('data', (chunk: Buffer) => {
      lastByte = chunk.at(-1) ?? lastByte;
      bytes += chunk.length;
      if (bytes > jsonBytesMax) answer.stream.destroy(resultTooLarge());
    });
    const { stream, query_id, response_headers } = answer;
    yield* new ResultSet(stream, format, query_id, () => undefined, response_headers).stream();
  } catch (error) {
    throw recognizeReadError(error);
  }
  if (lastByte !== newline) throw clickHouseAway(new Error('The answer of ClickHouse ended within a row'));
}

/** Returns the value of a row. What is no JSON is an error that ClickHouse or a proxy has written into its answer. */
function parse<Value>(row: RowOfAnswer): Value {
  try {
    return row.json<Value>();
  } catch (error) {
    throw clickHouseAway(error);
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

/**
 * Reads ClickHouse's clock, in nanoseconds since the epoch, to order summaries. A worker reads the
 * clock after its spans are confirmed and before it reads the trace. So a summary without these
 * spans never has a later time than the summary with all of them.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readEngineClock(clickhouse: ClickHouse): Promise<bigint> {
  const [row] = await readRows<{ now: string }>(clickhouse, {
    query: 'SELECT toUnixTimestamp64Nano(now64(9))::UInt64 AS now',
    format: 'JSONEachRow',
  });
  if (row === undefined) throw new Error('The query of the clock returned no row');
  return BigInt(row.now);
}

/**
 * Runs a query that selects the columns of `reader` and returns its rows.
 * @throws the errors of {@link readRows}
 */
export function rowsOf<Row>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  query: string,
  query_params: Record<string, unknown>,
  settings: ClickHouseSettings = {},
  jsonBytesMax = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  // Otherwise values such as NaN would become null.
  const clickhouse_settings = { ...settings, output_format_json_quote_denormals: 1 } as const;
  return readFields(clickhouse, reader, { query, query_params, clickhouse_settings, jsonBytesMax });
}
