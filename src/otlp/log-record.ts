import type { AnyValue, Attributes, Resource, Scope } from './span.ts';

/**
 * One accepted OTLP log record. Records share their resource and scope objects. A record without a
 * valid id has '' in its place: it belongs to no trace or to no span.
 */
export interface LogRecord {
  resource: Resource;
  scope: Scope;
  /** 32 lowercase hex digits, or ''. */
  traceId: string;
  /** 16 lowercase hex digits, or ''. */
  spanId: string;
  /** As sent; 0 when the sender did not know. */
  timeUnixNano: bigint;
  observedUnixNano: bigint;
  /** The field `event_name`, or the attribute `event.name` when the field is empty. */
  eventName: string;
  /** OTLP SeverityNumber as sent; 0 when absent. Unknown numbers are kept. */
  severityNumber: number;
  severityText: string;
  body: AnyValue;
  attributes: Attributes;
  droppedAttributesCount: number;
  flags: number;
  /** Changes made while decoding, as short stable words such as `attribute_truncated`. */
  warnings: string[];
}

/** Returns the name of an event: the field, or the attribute `event.name` when the field is empty. */
export function eventNameOf(field: string, attributes: Attributes): string {
  if (field !== '') return field;
  const named = attributes.get('event.name');
  return typeof named === 'string' ? named : '';
}
