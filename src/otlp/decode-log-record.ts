import { blankLogRecord } from './blank.ts';
import type { DecodeReader } from './decode-reader.ts';
import { plusDropped, readAnyValue, readAttribute } from './decode-values.ts';
import type { LogRecord } from './log-record.ts';
import type { Resource, Scope } from './span.ts';
import { emptyIdRanges, isId, resetIdRanges, spanIdBytes, traceIdBytes } from './span-checks.ts';
import { hex8 } from './text.ts';
import { warningWords } from './warnings.ts';

const ids = emptyIdRanges();

/** Reads one log record. An invalid id is read as '': the record belongs to no trace or to no span. */
export function readLogRecord(reader: DecodeReader, end: number, resource: Resource, scope: Scope): LogRecord {
  const record = blankLogRecord(resource, scope);
  let attributes = 0;
  resetIdRanges(ids);
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (tag === 0x32) readAttribute(reader, end, record.attributes, attributes++);
    else readLogRecordField(reader, tag, end, record);
  }
  const { bytes, limits } = reader;
  if (isId(bytes, ids.traceStart, ids.traceEnd, traceIdBytes)) record.traceId = reader.traceIdAt(ids.traceStart);
  if (isId(bytes, ids.spanStart, ids.spanEnd, spanIdBytes)) record.spanId = hex8(bytes, ids.spanStart);
  record.droppedAttributesCount = plusDropped(record.droppedAttributesCount, attributes, limits.attributesMax);
  record.warnings = warningWords(reader.takeWarnings());
  return record;
}

function readLogRecordField(reader: DecodeReader, tag: number, end: number, record: LogRecord): void {
  switch (tag) {
    case 0x09:
      record.timeUnixNano = reader.fixed64(end);
      return;
    case 0x10:
      record.severityNumber = reader.int32(end);
      return;
    case 0x1a:
      record.severityText = reader.text(end);
      return;
    case 0x2a:
      record.body = readAnyValue(reader, reader.message(end), record.body, 1);
      return;
    case 0x38:
      record.droppedAttributesCount = reader.uint32(end);
      return;
    case 0x45:
      record.flags = reader.fixed32(end);
      return;
    case 0x4a:
      reader.traceIdRange(end, ids);
      return;
    case 0x52:
      reader.spanIdRange(end, ids);
      return;
    case 0x59:
      record.observedUnixNano = reader.fixed64(end);
      return;
    case 0x62:
      record.eventName = reader.text(end);
      return;
    default:
      reader.skip(tag, end);
  }
}
