import { blankLogRecord } from './blank.ts';
import {
  type EnumNames,
  isObject,
  type JsonContext,
  type JsonObject,
  readEnum,
  readHexId,
  readText,
  readTime,
  readUint32,
} from './json-fields.ts';
import { readAnyValue, readAttributed } from './json-values.ts';
import type { LogRecord } from './log-record.ts';
import type { ItemFault } from './rejections.ts';
import type { Resource, Scope } from './span.ts';
import { spanIdBytes, traceIdBytes } from './span-checks.ts';
import { warningWords } from './warnings.ts';

const severityNumbers: EnumNames = {
  prefix: 'SEVERITY_NUMBER_',
  names: [
    'UNSPECIFIED',
    ...['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name) => [
      name,
      `${name}2`,
      `${name}3`,
      `${name}4`,
    ]),
  ],
};

/**
 * Reads one OTLP/JSON log record. Returns the fault if the record is rejected. An invalid id is
 * read as '': the record belongs to no trace or to no span.
 */
export function readLogRecord(
  context: JsonContext,
  value: unknown,
  resource: Resource,
  scope: Scope,
): LogRecord | ItemFault {
  const record = blankLogRecord(resource, scope);
  context.beginItem();
  if (isObject(value)) readFields(context, value, record);
  else context.refuse('a log record must be an object', value);
  record.warnings = warningWords(context.warnings);
  return context.endItem() ?? record;
}

function readFields(context: JsonContext, sent: JsonObject, record: LogRecord): void {
  record.traceId = readHexId(sent.traceId, traceIdBytes) ?? '';
  record.spanId = readHexId(sent.spanId, spanIdBytes) ?? '';
  record.timeUnixNano = readTime(context, sent.timeUnixNano, 'timeUnixNano');
  record.observedUnixNano = readTime(context, sent.observedTimeUnixNano, 'observedTimeUnixNano');
  record.severityNumber = readEnum(context, sent.severityNumber, 'severityNumber', severityNumbers);
  record.severityText = readText(context, sent.severityText, 'severityText');
  record.body = readAnyValue(context, sent.body, 1);
  record.eventName = readText(context, sent.eventName, 'eventName');
  record.flags = readUint32(context, sent.flags, 'flags');
  if (typeof (sent.attributes ?? null) !== 'object') {
    // The reader of attributes finds the whole body malformed. A log record must not cost others.
    context.refuse('attributes must be an array', sent.attributes);
    return;
  }
  const { attributes, droppedAttributesCount } = readAttributed(context, sent);
  record.attributes = attributes;
  record.droppedAttributesCount = droppedAttributesCount;
}
