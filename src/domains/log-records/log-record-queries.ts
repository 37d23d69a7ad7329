import { TooLargeError } from '../../lib/errors.ts';
import { anyValueFromJson, attributesFromJson } from '../../otlp/any-value-json.ts';
import type { LogRecord } from '../../otlp/log-record.ts';
import { resourceFromJson, scopeFromJson } from '../../otlp/origin-json.ts';
import { type ClickHouse, type ClickHouseSettings, joinSettings } from '../../stores/clickhouse/client.ts';
import { field, pick, plain, type RowOf, type RowReader, rowReader } from '../../stores/clickhouse/row-reader.ts';
import { readFields } from '../../stores/clickhouse/statements.ts';
import { boundSpans, ofSpans, ofTraces } from '../spans/index.ts';
import type { RecordCount } from './count-records.ts';
import { recordLimits } from './limits.ts';

const ofProject = 'project_id = {projectId:String}';
const ofSome = `${ofProject} AND ${ofTraces('{traceIds:String}')}`;

const recordFields = {
  traceId: plain<string>('lower(hex(trace_id))'),
  spanId: plain<string>('lower(hex(span_id))'),
  recordId: plain<string>('lower(hex(record_id))'),
  timeUnixNano: field('time_unix_nano', BigInt as (json: string) => bigint),
  observedUnixNano: field('observed_unix_nano', BigInt as (json: string) => bigint),
  eventName: plain<string>('event_name'),
  severityNumber: plain<number>('severity_number'),
  severityText: plain<string>('severity_text'),
  body: field('body', anyValueFromJson),
  attributes: field('attributes', attributesFromJson),
  droppedAttributesCount: plain<number>('dropped_attributes_count'),
  flags: plain<number>('flags'),
  scope: field('scope', scopeFromJson),
  resource: field('resource', resourceFromJson),
  warnings: plain<string[]>('warnings'),
  bytes: plain<number>('bytes'),
};
const storedRecord = rowReader(recordFields);

/** A record as decoded, with its id and the bytes of its content. */
export type StoredRecord = LogRecord & Pick<RowOf<typeof storedRecord>, 'recordId' | 'bytes'>;

/**
 * The order of the records of one span. The time that the sender did not know is the
 * observed one, or the time of receipt. The event name decides where all others tie.
 */
const orderKeys = [
  `multiIf(time_unix_nano != 0, time_unix_nano, observed_unix_nano != 0, observed_unix_nano,
    toUInt64(toUnixTimestamp64Milli(received_at)) * 1000000)`,
  'observed_unix_nano',
  'toUnixTimestamp64Milli(received_at)',
  'request',
  'position',
  "event_name != 'gen_ai.system.message'",
];
const order = orderKeys.join(', ');
const { genAi, other, otherBytesMax } = recordLimits;
/** Whether a record is a message that was asked, other than the system's. */
const isAsked = `(is_gen_ai AND match(event_name, '^gen_ai[.][^.]+[.]message$')
  AND event_name NOT IN ('gen_ai.system.message', 'gen_ai.developer.message'))`;
/**
 * The order in which records take the room of their span: answers, judgments and instructions before
 * messages, of which the newest come first, and of the lines of an application the earliest.
 */
const urgency = [isAsked, ...orderKeys.map((key) => `if(${isAsked}, -toInt128(${key}), toInt128(${key}))`)].join(', ');
/** Selects the first row of each record within the limits of its span. Reads only narrow columns. */
const within = `SELECT trace_id, span_id, record_id, received_at FROM
  (SELECT *, row_number() OVER span AS place, sum(bytes) OVER span AS running FROM
    (SELECT trace_id, span_id, record_id, received_at, request, position, time_unix_nano, observed_unix_nano,
       event_name, is_gen_ai, bytes
     FROM log_records PREWHERE ${ofSome} AND ${ofSpans}
     ORDER BY received_at, request, position LIMIT 1 BY trace_id, span_id, record_id)
   WHERE is_gen_ai OR bytes <= ${otherBytesMax}
   WINDOW span AS (PARTITION BY trace_id, span_id, is_gen_ai ORDER BY ${urgency} ROWS UNBOUNDED PRECEDING))
  WHERE if(is_gen_ai, place <= ${genAi.records} AND running <= ${genAi.bytes}, place <= ${other.records})`;

/**
 * The same where each span has so few records that no limit of a span matters. ClickHouse takes half
 * of the time.
 */
const allOfFew = `SELECT * FROM log_records PREWHERE ${ofSome} AND ${ofSpans} WHERE (is_gen_ai OR bytes <= ${otherBytesMax})
  ORDER BY received_at, request, position LIMIT 1 BY trace_id, span_id, record_id`;

/** The spans whose records are read. The caller bounds their number, and the bytes by {@link countRecords}. */
export interface RecordsToFind {
  /** `records` and `bytes` are at least what is stored for the span, if that is known. */
  keys: readonly (Pick<RecordCount, 'traceId' | 'spanId'> & Partial<RecordCount>)[];
  bytesMax: number;
}

/** More records may arrive after they were counted. */
function areFew({ records = Number.POSITIVE_INFINITY, bytes = 0 }: Partial<RecordCount>): boolean {
  return records <= other.records / 2 && bytes <= genAi.bytes / 2;
}

/**
 * Returns the records of some spans that are within the limits, in their order, by trace id and span
 * id.
 * @throws TooLargeError when the records have more than `bytesMax` bytes
 * @throws UnavailableError while ClickHouse is unavailable
 */
export function findRecords(
  clickhouse: ClickHouse,
  projectId: string,
  wanted: RecordsToFind,
): Promise<Map<string, StoredRecord[]>> {
  const bytes = wanted.keys.reduce((sum, key) => sum + (key.bytes ?? 0), 0);
  return findRows(clickhouse, storedRecord, projectId, wanted, joinSettings(wanted.keys.length, bytes));
}

/** Returns undefined for a TooLargeError. Throws any other. */
export function orTooLarge(error: unknown): undefined {
  if (!(error instanceof TooLargeError)) throw error;
}

const shownRecord = rowReader({
  ...pick(recordFields, ['traceId', 'spanId', 'recordId', 'eventName', 'severityNumber', 'severityText']),
  ...pick(recordFields, ['timeUnixNano', 'observedUnixNano', 'droppedAttributesCount']),
  receivedAtMs: field('toUnixTimestamp64Milli(received_at)', Number as (json: string) => number),
  body: plain<string>('body'),
  attributes: plain<string>('attributes'),
  scope: plain<string>('scope'),
});

/** A record with its values as OTLP/JSON. */
export type ShownRecord = RowOf<typeof shownRecord>;

/**
 * Returns records as {@link findRecords} does, with their values as OTLP/JSON.
 * @throws the errors of {@link findRecords}
 */
export function findShownRecords(
  clickhouse: ClickHouse,
  projectId: string,
  wanted: RecordsToFind,
): Promise<Map<string, ShownRecord[]>> {
  return findRows(clickhouse, shownRecord, projectId, wanted);
}

async function findRows<Row extends { traceId: string; spanId: string; recordId: string }>(
  clickhouse: ClickHouse,
  reader: RowReader<Row>,
  projectId: string,
  { keys, bytesMax }: RecordsToFind,
  settings: ClickHouseSettings = {},
): Promise<Map<string, Row[]>> {
  const bySpan = new Map<string, Row[]>();
  if (keys.length === 0) return bySpan;
  const found = keys.every(areFew)
    ? `(${allOfFew})`
    : `log_records PREWHERE ${ofSome} AND ${ofSpans}
       WHERE (trace_id, span_id, record_id, received_at) IN (${within})`;
  const rows = await readFields(clickhouse, reader, {
    query: `SELECT ${reader.columns} FROM ${found} ORDER BY trace_id, span_id, ${order}`,
    query_params: {
      projectId,
      traceIds: [...new Set(keys.map(({ traceId }) => traceId))].join(''),
      ...boundSpans(keys),
    },
    clickhouse_settings: { max_result_rows: '0', max_result_bytes: String(bytesMax), ...settings },
  });
  const seen = new Set<string>();
  for (const row of rows) {
    const key = row.traceId + row.spanId;
    // A job that ran twice has stored its rows twice until they are merged.
    if (seen.has(key + row.recordId)) continue;
    seen.add(key + row.recordId);
    const records = bySpan.get(key);
    if (records === undefined) bySpan.set(key, [row]);
    else records.push(row);
  }
  return bySpan;
}
