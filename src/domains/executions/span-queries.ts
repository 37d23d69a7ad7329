import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import type { CostSource, SpanStatus } from './light-span.ts';
import { blockColumn } from './newest-rows.ts';
import { ofTrace } from './trace-sql.ts';

/** What `?include=` can leave out of a span, and the columns that it then does not read. */
export const spanParts = {
  input: ['input'],
  output: ['output'],
  attributes: ['attributes_string', 'attributes_int', 'attributes_double', 'attributes_bool', 'attributes_other'],
  events: ['events'],
  links: ['links'],
  resource: ['resource'],
  scope: ['scope'],
} as const;

export type SpanPart = keyof typeof spanParts;
export const partNames = Object.keys(spanParts) as SpanPart[];

/** A row of `spans`; parts that were not asked for are absent, and those over a bound empty and named in `cut`. */
export interface SpanRow {
  id: string;
  parent: string;
  start_unix_nano: string;
  end_unix_nano: string;
  name: string;
  kind: string;
  status: SpanStatus;
  service: string;
  environment: string;
  provider: string;
  model: string;
  usage: number[];
  cost_nano_usd: string;
  session_id: string;
  user_id: string;
  tags: string[];
  prompt_id: string;
  prompt_name: string;
  prompt_version: number;
  prompt_raw_version: string;
  prompt_source: string;
  prompt_key: string;
  span_name: string;
  otel_kind: number;
  status_code: number;
  status_message: string;
  trace_state: string;
  flags: number;
  dropped_attributes_count: number;
  dropped_events_count: number;
  dropped_links_count: number;
  normaliser_version: number;
  error_type: string;
  error_message: string;
  error_stack: string;
  http_status_code: number;
  release: string;
  request_model: string;
  cost_source: CostSource;
  price_version: string;
  ttft_ms: number | null;
  conversation_id: string;
  params: string;
  evaluations: string;
  warnings: string[];
  cut: SpanPart[];
  input?: string;
  output?: string;
  attributes_string?: Record<string, string>;
  attributes_int?: Record<string, string>;
  attributes_double?: Record<string, number | null | string>;
  attributes_bool?: Record<string, boolean>;
  attributes_other?: Record<string, string>;
  events?: string;
  links?: string;
  resource?: string;
  scope?: string;
}

const computed = {
  id: 'lower(hex(span_id))',
  parent: "if(parent_span_id = unhex('0000000000000000'), '', lower(hex(parent_span_id)))",
  usage:
    'if(has_usage, [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens], [])',
} as const satisfies Partial<Record<keyof SpanRow, string>>;

const columns: readonly (keyof SpanRow)[] = [
  'start_unix_nano',
  'end_unix_nano',
  'name',
  'kind',
  'status',
  'service',
  'environment',
  'provider',
  'model',
  'cost_nano_usd',
  'session_id',
  'user_id',
  'tags',
  'prompt_id',
  'prompt_name',
  'prompt_version',
  'prompt_raw_version',
  'prompt_source',
  'prompt_key',
  'span_name',
  'otel_kind',
  'status_code',
  'status_message',
  'trace_state',
  'flags',
  'dropped_attributes_count',
  'dropped_events_count',
  'dropped_links_count',
  'normaliser_version',
  'error_type',
  'error_message',
  'error_stack',
  'http_status_code',
  'release',
  'request_model',
  'cost_source',
  'price_version',
  'ttft_ms',
  'conversation_id',
  'params',
  'evaluations',
  'warnings',
];

/** SQL of all of a {@link SpanRow} but its parts and what of them is cut. */
export const headColumns: readonly string[] = [
  ...Object.entries(computed).map(([name, sql]) => `${sql} AS ${name}`),
  ...columns,
];

/** The trace of one project; `traceId` is 32 hex digits. */
export interface TraceKey {
  projectId: string;
  traceId: string;
}

/** Where a span stands in its trace: by start, then by id. */
export interface SpanPlace {
  startUnixNano: string;
  spanId: string;
}

/** The places of the first `limit` spans after a place, each span once. Throws UnavailableError. */
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
  /** Parts of more bytes, as they are stored, are left out of the rows and named in `cut`. */
  partBytesMax: number;
  /** Rows after these bytes are left out; the first one never is. */
  bytesMax: number;
}

/**
 * Those spans in their order as last received, as many as `bytesMax` lets through. What is over a bound never leaves the engine.
 * Throws UnavailableError.
 */
export async function findSpanRows(
  clickhouse: ClickHouse,
  trace: TraceKey,
  spanIds: readonly string[],
  { include, partBytesMax, bytesMax }: SpanBounds,
): Promise<SpanRow[]> {
  const parts = partNames.filter((part) => include.has(part));
  const shown = parts.flatMap((part) =>
    spanParts[part].map(
      (column) => `if(${bytesOf(part)} > ${partBytesMax}, ${emptyOf(column)}, ${column}) AS ${column}`,
    ),
  );
  const cut = parts.map((part) => `if(${bytesOf(part)} > ${partBytesMax}, ['${part}'], [])`);
  // A part that is left out is read once more, for its length and how it begins.
  const taken = parts.map((part) => `least(${bytesOf(part)}, ${partBytesMax}) + intDiv(${bytesOf(part)}, 8)`);
  const ofIds = "span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')";
  const newest = `(span_id, received_at) IN
    (SELECT span_id, max(received_at) FROM spans PREWHERE ${ofTrace} AND ${ofIds} GROUP BY span_id)`;
  return rowsOf<SpanRow>(
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

/** Of all rows together, whatever else holds for a reader: a part of 64 MiB, the most that one body can bring, has to pass. */
const rowBytesMax = '268435456';

const fixedBytes =
  '1000 + length(status_message) + length(error_message) + length(error_stack) + length(params) + length(evaluations)';

/** SQL of a part's size, as the engine holds it. */
const bytesOf = (part: SpanPart) => `byteSize(${spanParts[part].join(', ')})`;

function emptyOf(column: string): string {
  return column.startsWith('attributes') ? `CAST(map(), toTypeName(${column}))` : "''";
}

/** Throws as `runClickHouse` does. */
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
      // Attribute values such as NaN would be null otherwise; and columns that are cut keep their names.
      clickhouse_settings: { ...settings, output_format_json_quote_denormals: 1, prefer_column_name_to_alias: 1 },
      format,
    });
    return result.json<Row>();
  });
}
