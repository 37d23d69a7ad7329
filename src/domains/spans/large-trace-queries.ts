import { setMembersMax } from '../../lib/bound-set.ts';
import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { pick, plain, type RowOf, type RowReader, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields, readRows } from '../../stores/clickhouse/statements.ts';
import { noParent, spanFields } from './span-fields.ts';
import { ofTrace } from './trace-sql.ts';

/** One ClickHouse thread: these reads are never urgent, and other queries are. */
const settings: ClickHouseSettings = {
  max_threads: 1,
  max_execution_time: 60,
  max_result_rows: '0',
  output_format_json_quote_64bit_integers: 1,
};
/** The earliest spans with tags, whose tags are put in order. */
const taggedSpansMax = 20_000;
/** Distinct models, providers, prompts and error types of a trace that are distinguished. */
export const facetsMax = 2_048;
/** Characters kept of each text of a facet. */
const facetCharsMax = 256;
/** Bytes of a response id that is kept as it is. */
const responseIdBytesMax = 64;
const started = '(start_unix_nano, span_id)';
const spanId = spanFields.spanId.sql;
const facet = `toString(sipHash64(provider, model, prompt_id, prompt_name, prompt_version, prompt_raw_version, prompt_source, prompt_key, error_type))`;

/** Totals over all spans of a trace, each span as last received. */
export interface TraceTotals {
  spans: number;
  errors: number;
  hasRoot: boolean;
  startNano: string;
  endNano: string;
  receivedAtMs: number;
  /** The lowest. */
  normalizerVersion: number;
  /** Some of the tags, in any order. */
  tags: string[];
  tagsDistinct: number;
  /**
   * Spans whose texts can represent the trace: its earliest root, the earliest span with each text,
   * and the last with an output.
   */
  speakers: string[];
}

/** The place of a span in its trace. */
const placeFields = pick(spanFields, ['spanId', 'parentSpanId', 'startUnixNano', 'endUnixNano', 'kind', 'status']);

/** The fields of a span that counting and linking need. A long response id is replaced by its hash. */
const compact = rowReader({
  ...placeFields,
  ...pick(spanFields, ['usage', 'costNanoUsd', 'costSource', 'ttftMs']),
  responseId: plain<string>(
    `if(length(response_id) <= ${responseIdBytesMax}, response_id, lower(hex(sipHash128(response_id))))`,
  ),
  facet: plain<string>(facet),
});

const cut = (column: string) => plain<string>(`leftUTF8(any(${column}), ${facetCharsMax})`);

const facets = rowReader({
  facet: plain<string>(facet),
  provider: cut('provider'),
  model: cut('model'),
  errorType: cut('error_type'),
  id: cut('prompt_id'),
  name: cut('prompt_name'),
  version: plain<number>('any(prompt_version)'),
  rawVersion: cut('prompt_raw_version'),
  source: plain<string>('any(prompt_source)'),
  key: cut('prompt_key'),
});

/** A span that can represent its trace, with its texts. */
const speakers = rowReader({
  ...placeFields,
  ...pick(spanFields, ['receivedAtMs', 'retentionDays', 'name', 'service', 'environment', 'sessionId', 'userId']),
  ...pick(spanFields, ['inputPreview', 'outputPreview']),
});

export type CompactSpan = RowOf<typeof compact>;
export type Facet = RowOf<typeof facets>;
export type Speaker = RowOf<typeof speakers>;

/**
 * Returns totals over all spans of a trace, however many: ClickHouse reads it row by row. Undefined
 * for a trace without spans.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTraceTotals(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
): Promise<TraceTotals | undefined> {
  const first = (condition: string) => `argMinIf(${spanId}, ${started}, ${condition})`;
  const [row] = await readRows<TraceTotals>(clickhouse, {
    query: `SELECT count()::Float64 AS spans, countIf(status = 'error')::Float64 AS errors,
            (countIf(parent_span_id = ${noParent}) > 0)::Bool AS hasRoot,
            min(start_unix_nano) AS startNano,
            max(if(start_unix_nano = 0 OR end_unix_nano < start_unix_nano, start_unix_nano, end_unix_nano)) AS endNano,
            toUnixTimestamp64Milli(max(received_at))::Float64 AS receivedAtMs,
            min(spans.normalizer_version) AS normalizerVersion,
            groupUniqArrayArray(${setMembersMax})(spans.tags) AS tags,
            uniqCombinedArray(spans.tags)::Float64 AS tagsDistinct,
            arrayDistinct([${[
              first(`parent_span_id = ${noParent}`),
              `argMin(${spanId}, ${started})`,
              first("session_id != ''"),
              first("user_id != ''"),
              first("environment != ''"),
              first("service != ''"),
              first("input_preview != ''"),
              `argMaxIf(${spanId}, ${started}, output_preview != '')`,
            ].join(', ')}]) AS speakers
     FROM spans FINAL PREWHERE ${ofTrace}`,
    query_params: { projectId, traceId },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
  return row === undefined || row.spans === 0
    ? undefined
    : { ...row, speakers: row.speakers.filter((id) => id !== '') };
}

/**
 * Returns the first tags of the earliest {@link taggedSpansMax} spans with tags, in order of start.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findFirstTags(clickhouse: ClickHouse, projectId: string, traceId: string): Promise<string[]> {
  const rows = await readRows<{ tag: string }>(clickhouse, {
    query: `SELECT tag
            FROM (SELECT start_unix_nano, span_id, tags FROM spans FINAL PREWHERE ${ofTrace} WHERE notEmpty(tags)
                  ORDER BY ${started} LIMIT ${taggedSpansMax})
            ARRAY JOIN tags AS tag, arrayEnumerate(tags) AS position
            GROUP BY tag ORDER BY min((start_unix_nano, span_id, position)) LIMIT ${setMembersMax}`,
    query_params: { projectId, traceId },
    clickhouse_settings: settings,
    format: 'JSONEachRow',
  });
  return rows.map(({ tag }) => tag);
}

/**
 * Returns the earliest `spansMax` spans of a trace.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findCompactSpans(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  spansMax: number,
): Promise<CompactSpan[]> {
  const which = `ORDER BY ${started} LIMIT ${spansMax}`;
  return rowsOf(clickhouse, compact, { projectId, traceId }, which);
}

/**
 * Returns the models, providers, prompts and error types that the spans name, with their texts cut. At most
 * {@link facetsMax}, the earliest used first.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findFacets(clickhouse: ClickHouse, projectId: string, traceId: string): Promise<Facet[]> {
  const which = `GROUP BY ${facet} ORDER BY min(${started}) LIMIT ${facetsMax}`;
  return rowsOf(clickhouse, facets, { projectId, traceId }, which);
}

/**
 * Returns the given spans with their texts.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findSpeakers(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  spanIds: readonly string[],
): Promise<Speaker[]> {
  const which = "AND span_id IN reinterpret(unhex({spanIds:String}), 'Array(FixedString(8))')";
  return rowsOf(clickhouse, speakers, { projectId, traceId, spanIds: spanIds.join('') }, which);
}

function rowsOf<Row>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  query_params: Record<string, string>,
  which: string,
): Promise<Row[]> {
  const query = `SELECT ${reader.columns} FROM spans FINAL PREWHERE ${ofTrace} ${which}`;
  return readFields(clickhouse, reader, { query, query_params, clickhouse_settings: settings });
}
