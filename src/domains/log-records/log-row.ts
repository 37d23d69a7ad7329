import { anyValueToJson, attributesToJson } from '../../otlp/any-value-json.ts';
import type { LogRecord } from '../../otlp/log-record.ts';
import { resourceToJson, scopeToJson } from '../../otlp/origin-json.ts';
import {
  array,
  bool,
  column,
  dateTimeMs,
  hex,
  int32,
  text,
  texts,
  uint16,
  uint32,
  uint64,
} from '../../stores/clickhouse/native-columns.ts';
import { NativeTable } from '../../stores/clickhouse/native-table.ts';
import { recordLimits } from './limits.ts';
import type { RecordIds } from './record-identity.ts';

/** One row of `log_records`. */
export interface LogRow {
  projectId: string;
  receivedAtMs: number;
  retentionDays: number;
  /** Orders the requests that were received in one millisecond. */
  request: bigint;
  position: number;
  recordId: string;
  record: LogRecord;
  body: string;
  attributes: string;
  isGenAi: boolean;
  /** UTF-16 units of the body and the attributes as sent, for the limits. */
  bytes: number;
}

const noContent = { body: '{}', attributes: '[]' };

/** What the rows of one request have in common. */
export type RequestOfRows = Pick<LogRow, 'projectId' | 'receivedAtMs' | 'retentionDays' | 'request'>;

/** Returns the row of a kept record. `ids` are those of its request. */
export function logRowOf(
  request: RequestOfRows,
  record: LogRecord,
  { ids, position, isGenAi }: { ids: RecordIds; position: number; isGenAi: boolean },
): LogRow {
  const body = anyValueToJson(record.body);
  const attributes = attributesToJson(record.attributes);
  const recordId = ids.next(record, body);
  const bytes = body.length + attributes.length;
  const row = { ...request, position, recordId, record, isGenAi, bytes };
  // A line that is too large is only counted.
  return isGenAi || bytes <= recordLimits.otherBytesMax ? { ...row, body, attributes } : { ...row, ...noContent };
}

/** The columns of `log_records`, one line each. Only the migration must match them. */
export const logTable = new NativeTable<LogRow>({
  project_id: column(text, (r) => r.projectId),
  trace_id: column(hex(16), (r) => r.record.traceId),
  span_id: column(hex(8), (r) => r.record.spanId),
  record_id: column(hex(16), (r) => r.recordId),
  received_at: column(dateTimeMs, (r) => r.receivedAtMs),
  retention_days: column(uint16, (r) => r.retentionDays),
  request: column(uint64, (r) => r.request),
  position: column(uint32, (r) => r.position),
  time_unix_nano: column(uint64, (r) => r.record.timeUnixNano),
  observed_unix_nano: column(uint64, (r) => r.record.observedUnixNano),
  event_name: column(text, (r) => r.record.eventName),
  severity_number: column(int32, (r) => r.record.severityNumber),
  severity_text: column(text, (r) => r.record.severityText),
  body: column(text, (r) => r.body),
  attributes: column(text, (r) => r.attributes),
  dropped_attributes_count: column(uint32, (r) => r.record.droppedAttributesCount),
  flags: column(uint32, (r) => r.record.flags >>> 0),
  scope: column(text, (r) => scopeToJson(r.record.scope)),
  resource: column(text, (r) => resourceToJson(r.record.resource)),
  warnings: array(texts, (r) => r.record.warnings),
  is_gen_ai: column(bool, (r) => r.isGenAi),
  bytes: column(uint32, (r) => r.bytes),
});
