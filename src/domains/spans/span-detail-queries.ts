import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { blockColumn } from './newest-rows.ts';
import { headColumns, partNames, type SpanDetail, type SpanPart, spanParts } from './span-detail.ts';
import { ofTrace, type TraceKey } from './trace-sql.ts';

/** The position of a span in its trace: ordered by start, then by id. */
export interface SpanPlace {
  startUnixNano: string;
  spanId: string;
}

/**
 * Returns the positions of the first `limit` spans after a position, each span once.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findSpanPlaces(
  clickhouse: ClickHouse,
  trace: TraceKey,
  after: SpanPlace | undefined,
  limit: number,
): Promise<SpanPlace[]> {
  const isAfter = 'WHERE (start, id) > ({afterStart:UInt64}, toFixedString(unhex({afterId:String}), 8))';
  const rows = await rowsOf<[string, string]>(
    clickhouse,
    `SELECT start, lower(hex(id)) FROM
       (SELECT span_id AS id, start_unix_nano AS start FROM spans PREWHERE ${ofTrace}
        ORDER BY received_at DESC, ${blockColumn} DESC LIMIT 1 BY span_id)
     ${after === undefined ? '' : isAfter} ORDER BY start, id LIMIT {limit:UInt32}`,
    { ...trace, limit, ...(after && { afterStart: after.startUnixNano, afterId: after.spanId }) },
    'JSONCompactEachRow',
  );
  return rows.map(([startUnixNano, spanId]) => ({ startUnixNano, spanId }));
}

export interface SpanBounds {
  include: ReadonlySet<SpanPart>;
  /** A part with more stored bytes is left out of its row and named in `cut`. */
  partBytesMax: number;
  /** Rows beyond this many bytes are left out, but never the first one. */
  bytesMax: number;
}

/**
 * Returns the given spans as last received, ordered by position, as many as `bytesMax` allows.
 * ClickHouse never sends what is over a bound.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findSpanRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  spanIds: readonly string[],
  { include, partBytesMax, bytesMax }: SpanBounds,
): Promise<SpanDetail[]> {
  const parts = partNames.filter((part) => include.has(part));
  const shown = parts.flatMap((part) =>
    spanParts[part].map(
      (column) => `if(${bytesOf(part)} > ${partBytesMax}, ${emptyOf(column)}, ${column}) AS ${column}`,
    ),
  );
  const cut = parts.map((part) => `if(${bytesOf(part)} > ${partBytesMax}, ['${part}'], [])`);
  // A part that is left out is read once more, for its length and its beginning.
  const taken = parts.map((part) => `least(${bytesOf(part)}, ${partBytesMax}) + intDiv(${bytesOf(part)}, 8)`);
  const ofIds = "span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')";
  const newest = `(span_id, received_at) IN
    (SELECT span_id, max(received_at) FROM spans PREWHERE ${ofTrace} AND ${ofIds} GROUP BY span_id)`;
  return rowsOf<SpanDetail>(
    clickhouse,
    `SELECT ${[...headColumns, ...shown].join(', ')}, arrayConcat([], ${cut.join(', ') || '[]'}) AS cut,
       ${[fixedBytes, ...taken].join(' + ')} AS bytes, sum(bytes) OVER (ORDER BY start_unix_nano, span_id) AS running
     FROM spans PREWHERE ${ofTrace} AND ${ofIds} AND ${newest}
     QUALIFY running <= {bytesMax:UInt64} OR running = bytes
     ORDER BY start_unix_nano, span_id, ${blockColumn} DESC LIMIT 1 BY span_id`,
    { ...trace, spanIds: spanIds.join(''), bytesMax },
    'JSONEachRow',
    { max_result_bytes: rowBytesMax },
  );
}

/**
 * Bytes of all rows together, whatever limit a reader has otherwise. A part of 64 MiB, the most
 * that one body can bring, must pass.
 */
const rowBytesMax = '268435456';

const fixedBytes =
  '1000 + length(status_message) + length(error_message) + length(error_stack) + length(params) + length(evaluations)';

/** Returns the SQL for the size of a part, as ClickHouse stores it in memory. */
const bytesOf = (part: SpanPart) => `byteSize(${spanParts[part].join(', ')})`;

function emptyOf(column: string): string {
  return column.startsWith('attributes') ? `CAST(map(), toTypeName(${column}))` : "''";
}

/**
 * Runs a query and returns its rows.
 * @throws the errors of `runClickHouse`
 */
export async function rowsOf<Row>(
  clickhouse: ClickHouse,
  query: string,
  query_params: Record<string, unknown>,
  format: 'JSONEachRow' | 'JSONCompactEachRow',
  settings: ClickHouseSettings = {},
): Promise<Row[]> {
  return runClickHouse(async () => {
    const result = await clickhouse.query({
      query,
      query_params,
      // Without the first setting, values such as NaN would become null. The second lets columns
      // that are cut keep their names.
      clickhouse_settings: { ...settings, output_format_json_quote_denormals: 1, prefer_column_name_to_alias: 1 },
      format,
    });
    return result.json<Row>();
  });
}
