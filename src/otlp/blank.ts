import type { LogRecord } from './log-record.ts';
import type { Resource, Scope, Span, SpanLink } from './span.ts';

/**
 * Creates a span with protobuf's default values. Every span is created here, so that all have the
 * same object shape.
 */
export function blankSpan(resource: Resource, scope: Scope): Span {
  return {
    resource,
    scope,
    traceId: '',
    spanId: '',
    parentSpanId: '',
    traceState: '',
    flags: 0,
    name: '',
    kind: 0,
    startUnixNano: 0n,
    endUnixNano: 0n,
    attributes: new Map(),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    statusCode: 0,
    statusMessage: '',
    warnings: [],
  };
}

/** Creates a log record with protobuf's default values. */
export function blankLogRecord(resource: Resource, scope: Scope): LogRecord {
  return {
    resource,
    scope,
    traceId: '',
    spanId: '',
    timeUnixNano: 0n,
    observedUnixNano: 0n,
    eventName: '',
    severityNumber: 0,
    severityText: '',
    body: null,
    attributes: new Map(),
    droppedAttributesCount: 0,
    flags: 0,
    warnings: [],
  };
}

/** Creates a link with protobuf's default values. */
export function blankLink(): SpanLink {
  return { traceId: '', spanId: '', traceState: '', attributes: new Map(), droppedAttributesCount: 0, flags: 0 };
}

/** Creates a resource with protobuf's default values. */
export function blankResource(): Resource {
  return { attributes: new Map(), droppedAttributesCount: 0, schemaUrl: '' };
}

/** Creates a scope with protobuf's default values. */
export function blankScope(): Scope {
  return { name: '', version: '', attributes: new Map(), droppedAttributesCount: 0, schemaUrl: '' };
}
