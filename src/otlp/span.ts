/**
 * A decoded OTLP AnyValue. The JavaScript type determines the OTLP type, so no wrapper is needed:
 * string, bool = boolean, int = bigint (exact 64 bits), double = number, bytes = Uint8Array, array
 * = Array, kvlist = Map, empty = null.
 */
export type AnyValue = string | boolean | bigint | number | Uint8Array | null | AnyValue[] | Attributes;

/**
 * Attributes by key. A Map, because keys such as `__proto__` are data. If a key is repeated, the
 * last one wins.
 */
export type Attributes = Map<string, AnyValue>;

export interface Resource {
  attributes: Attributes;
  droppedAttributesCount: number;
  schemaUrl: string;
}

export interface Scope {
  name: string;
  version: string;
  attributes: Attributes;
  droppedAttributesCount: number;
  schemaUrl: string;
}

export interface SpanEvent {
  timeUnixNano: bigint;
  name: string;
  attributes: Attributes;
  droppedAttributesCount: number;
}

export interface SpanLink {
  traceId: string;
  spanId: string;
  traceState: string;
  attributes: Attributes;
  droppedAttributesCount: number;
  flags: number;
}

/**
 * One accepted OTLP span. Ids are lowercase hex; `parentSpanId` is '' for a root. Spans share their
 * resource and scope objects.
 */
export interface Span {
  resource: Resource;
  scope: Scope;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  traceState: string;
  flags: number;
  name: string;
  /** OTLP SpanKind number as sent. Unknown numbers are kept. */
  kind: number;
  startUnixNano: bigint;
  endUnixNano: bigint;
  attributes: Attributes;
  droppedAttributesCount: number;
  events: SpanEvent[];
  droppedEventsCount: number;
  links: SpanLink[];
  droppedLinksCount: number;
  /** OTLP status code: 0 unset, 1 ok, 2 error. */
  statusCode: number;
  statusMessage: string;
  /**
   * Changes made while decoding, as short stable words such as `attribute_truncated` or
   * `invalid_utf8`.
   */
  warnings: string[];
}
