import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { blockColumn, newestRows, rowsFor } from './newest-rows.ts';
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

/** A row of `spans` beyond what a light span has; parts that were not asked for are absent. */
export interface SpanDetail {
  span_id: string;
  received_at_ms: string;
  block: string;
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
  cost_source: 'none' | 'reported' | 'computed';
  price_version: string;
  ttft_ms: number | null;
  conversation_id: string;
  params: string;
  evaluations: string;
  warnings: string[];
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

const columns: readonly (keyof SpanDetail)[] = [
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

/** As many spans as one answer gives out. */
const spanDetailsMax = 10_000;

/** The heavy half of the earliest {@link spanDetailsMax} spans of a trace, by span id. Throws UnavailableError while the trace store is away. */
export async function findSpanDetails(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  include: ReadonlySet<SpanPart>,
): Promise<Map<string, SpanDetail>> {
  const selected = [...columns, ...[...include].flatMap((part): readonly string[] => spanParts[part])];
  const rows = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT lower(hex(spans.span_id)) AS span_id, toUnixTimestamp64Milli(received_at) AS received_at_ms, ${blockColumn} AS block, ${selected.join(', ')} FROM spans PREWHERE ${ofTrace}
              ORDER BY start_unix_nano, spans.span_id LIMIT ${rowsFor(spanDetailsMax)}`,
      query_params: { projectId, traceId },
      // Attribute values such as NaN would be null otherwise.
      clickhouse_settings: { output_format_json_quote_denormals: 1 },
      format: 'JSONEachRow',
    });
    return result.json<SpanDetail>();
  });
  const newest = newestRows(rows, (row) => ({
    spanId: row.span_id,
    receivedAtMs: Number(row.received_at_ms),
    block: Number(row.block),
  }));
  return new Map(newest.slice(0, spanDetailsMax).map(({ row }) => [row.span_id, row]));
}
