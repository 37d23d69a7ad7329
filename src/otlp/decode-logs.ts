import { readLogRecord } from './decode-log-record.ts';
import { decodeProtobufRequest } from './decode-protobuf.ts';
import { readLogRecord as readJsonLogRecord } from './json-log-record.ts';
import { readJsonRequest } from './json-request.ts';
import type { OtlpLimits } from './limits.ts';
import type { LogRecord } from './log-record.ts';
import type { OtlpEncoding } from './media-type.ts';

/**
 * Decodes the log records that `scanLogs` accepts, in the order of the body.
 * @throws MalformedError exactly when the scan throws it
 */
export function decodeLogs(encoding: OtlpEncoding, bytes: Uint8Array, limits: OtlpLimits): LogRecord[] {
  const records =
    encoding === 'protobuf'
      ? decodeProtobufRequest('logs', readLogRecord, bytes, limits)
      : readJsonRequest('logs', readJsonLogRecord, bytes, limits).items;
  for (const record of records) nameEvent(record);
  return records;
}

/** Gives a record without the field `event_name` the name in its attribute, as older clients send it. */
function nameEvent(record: LogRecord): void {
  if (record.eventName !== '') return;
  const named = record.attributes.get('event.name');
  if (typeof named === 'string') record.eventName = named;
}
