import { setMembersMax } from '../../lib/bound-set.ts';
import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { noParent } from './light-span-queries.ts';
import type { CostSource, SpanStatus } from './normalized-span.ts';
import { ofTrace } from './trace-sql.ts';

/** One ClickHouse thread: these reads are never urgent, and other queries are. */
const settings: ClickHouseSettings = {
  max_threads: 1,
  max_execution_time: 60,
  max_result_rows: '0',
  output_format_json_quote_64bit_integers: 1,
};
/** Distinct models, providers and prompts of a trace that are told apart. */
export const facetsMax = 2_048;
/** Characters kept of each text of a facet. */
const facetCharsMax = 256;
const started = '(start_unix_nano, spans.span_id)';
const spanId = 'lower(hex(spans.span_id))';
const speaks = `(parent_span_id = ${noParent} OR kind = 'llm')`;
const facet = `toString(sipHash64(spans.provider, spans.model, prompt_id, prompt_name, prompt_version, prompt_raw_version, prompt_source, prompt_key))`;

/** Totals over all spans of a trace, each span as last received. */
export interface TraceTotals {
  spans: number;
  errors: number;
  hasRoot: boolean;
  startNano: string;
  endNano: string;
  receivedAtMs: number;
  tags: string[];
  tagsDistinct: number;
  /**
   * Spans whose texts can represent the trace: its earliest root, the earliest span with each text,
   * and the last with an output.
   */
  speakers: string[];
}

/** The fields of a span that counting and linking need. */
export interface CompactSpan {
  spanId: string;
  parentSpanId: string;
  startNano: string;
  endNano: string;
  kind: string;
  status: SpanStatus;
  usage: number[];
  cost: string | null;
  costSource: CostSource;
  responseId: string;
  facet: string;
}

export interface Facet extends SpanPrompt {
  facet: string;
  provider: string;
  model: string;
}

/** A span that can represent its trace, with its texts. */
export interface Speaker {
  spanId: string;
  parentSpanId: string;
  startNano: string;
  endNano: string;
  kind: string;
  status: SpanStatus;
  receivedAtMs: number;
  retentionDays: number;
  name: string;
  service: string;
  environment: string;
  sessionId: string;
  userId: string;
  inputPreview: string;
  outputPreview: string;
}

/**
 * Returns totals over all spans of a trace, however many: ClickHouse reads it row by row. Undefined
 * for a trace without spans.
 * @throws the error of ClickHouse
 */
export async function findTraceTotals(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<TraceTotals | undefined> {
  const first = (condition: string) => `argMinIf(${spanId}, ${started}, ${condition})`;
  const [row] = await rowsOf<TraceTotals>(
    clickhouse,
    { projectId, traceId },
    `SELECT count()::Float64 AS spans, countIf(status = 'error')::Float64 AS errors,
            (countIf(parent_span_id = ${noParent}) > 0)::Bool AS hasRoot,
            min(start_unix_nano) AS startNano,
            max(if(start_unix_nano = 0 OR end_unix_nano < start_unix_nano, start_unix_nano, end_unix_nano)) AS endNano,
            toUnixTimestamp64Milli(max(received_at))::Float64 AS receivedAtMs,
            arraySort(groupUniqArrayArray(${setMembersMax})(spans.tags)) AS tags,
            uniqCombinedArray(spans.tags)::Float64 AS tagsDistinct,
            arrayDistinct([${[
              first(`parent_span_id = ${noParent}`),
              `argMin(${spanId}, ${started})`,
              first("session_id != ''"),
              first("user_id != ''"),
              first("environment != ''"),
              first("service != ''"),
              first(`input_preview != '' AND ${speaks}`),
              `argMaxIf(${spanId}, ${started}, output_preview != '' AND ${speaks})`,
            ].join(', ')}]) AS speakers
     FROM spans FINAL PREWHERE ${ofTrace}`,
  );
  return row === undefined || row.spans === 0
    ? undefined
    : { ...row, speakers: row.speakers.filter((id) => id !== '') };
}

/**
 * Returns the earliest `spansMax` spans of a trace. A response id over 64 bytes is replaced by its
 * hash.
 * @throws the error of ClickHouse
 */
export function findCompactSpans(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  spansMax: number,
): Promise<CompactSpan[]> {
  return rowsOf<CompactSpan>(
    clickhouse,
    { projectId, traceId },
    `SELECT ${spanId} AS spanId, if(parent_span_id = ${noParent}, '', lower(hex(parent_span_id))) AS parentSpanId,
            start_unix_nano AS startNano, end_unix_nano AS endNano, kind, status, cost_source AS costSource,
            if(has_usage, [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens], []) AS usage,
            if(cost_source = 'none', NULL, cost_nano_usd) AS cost,
            if(length(response_id) <= 64, response_id, lower(hex(sipHash128(response_id)))) AS responseId,
            ${facet} AS facet
     FROM spans FINAL PREWHERE ${ofTrace} ORDER BY ${started} LIMIT ${spansMax}`,
  );
}

/**
 * Returns the models, providers and prompts that the spans name, with their texts cut. At most
 * {@link facetsMax}, the earliest used first.
 * @throws the error of ClickHouse
 */
export function findFacets(clickhouse: ClickHouse, projectId: string, traceId: string): Promise<Facet[]> {
  const cut = (column: string, name: string) => `leftUTF8(any(${column}), ${facetCharsMax}) AS ${name}`;
  return rowsOf<Facet>(
    clickhouse,
    { projectId, traceId },
    `SELECT ${facet} AS facet, ${cut('spans.provider', 'provider')}, ${cut('spans.model', 'model')}, ${cut('prompt_id', 'id')},
            ${cut('prompt_name', 'name')}, any(prompt_version) AS version, ${cut('prompt_raw_version', 'rawVersion')},
            any(prompt_source) AS source, ${cut('prompt_key', 'key')}
     FROM spans FINAL PREWHERE ${ofTrace} GROUP BY facet ORDER BY min(${started}) LIMIT ${facetsMax}`,
  );
}

/**
 * Returns the given spans with their texts.
 * @throws the error of ClickHouse
 */
export function findSpeakers(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  spanIds: readonly string[],
): Promise<Speaker[]> {
  return rowsOf<Speaker>(
    clickhouse,
    { projectId, traceId, spanIds: spanIds.join('') },
    `SELECT ${spanId} AS spanId, if(parent_span_id = ${noParent}, '', lower(hex(parent_span_id))) AS parentSpanId,
            start_unix_nano AS startNano, end_unix_nano AS endNano, kind, status,
            toUnixTimestamp64Milli(received_at)::Float64 AS receivedAtMs, retention_days AS retentionDays,
            spans.name AS name, service, environment, session_id AS sessionId, user_id AS userId,
            if(${speaks}, input_preview, '') AS inputPreview, if(${speaks}, output_preview, '') AS outputPreview
     FROM spans FINAL PREWHERE ${ofTrace} AND spans.span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')`,
  );
}

async function rowsOf<Row>(clickhouse: ClickHouse, parameters: Record<string, string>, query: string): Promise<Row[]> {
  const result = await clickhouse.query({
    query,
    query_params: parameters,
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
  return result.json<Row>();
}
