import { type Decoded, type Field, pick, plain } from '../../stores/clickhouse/row-reader.ts';
import { LargeTraceError } from './large-trace.ts';
import { spanFields, stringAttributes } from './span-fields.ts';

/** The parts of a span that `?include=` selects, and the SQL of each of their fields. */
export const spanParts = {
  input: { input: 'input' },
  output: { output: 'output' },
  attributes: {
    attributesString: stringAttributes,
    attributesInt: 'attributes_int',
    attributesDouble: 'attributes_double',
    attributesBool: 'attributes_bool',
    attributesOther: 'attributes_other',
  },
  events: { events: 'events' },
  links: { links: 'links' },
  resource: { resource: 'resource' },
  scope: { scope: 'scope' },
} as const;

export type SpanPart = keyof typeof spanParts;
export const partNames = Object.keys(spanParts) as SpanPart[];

/** The parts of a {@link SpanDetail} as stored. */
interface Parts {
  input: string;
  output: string;
  attributesString: Record<string, string>;
  attributesInt: Record<string, string>;
  attributesDouble: Record<string, number | null | string>;
  attributesBool: Record<string, boolean>;
  attributesOther: Record<string, string>;
  events: string;
  links: string;
  resource: string;
  scope: string;
}

/** The fields of every {@link SpanDetail}. */
export const detailFields = pick(spanFields, [
  ...(['spanId', 'parentSpanId', 'startUnixNano', 'endUnixNano', 'spanName', 'otelKind', 'statusCode'] as const),
  ...(['statusMessage', 'traceState', 'flags'] as const),
  ...(['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount', 'normalizerVersion'] as const),
  ...(['kind', 'name', 'status', 'errorType', 'errorMessage', 'errorStack', 'httpStatusCode'] as const),
  ...(['service', 'environment', 'release', 'provider', 'model', 'requestModel'] as const),
  ...(['usage', 'costNanoUsd', 'costSource', 'priceVersion', 'ttftMs'] as const),
  ...(['sessionId', 'conversationId', 'userId', 'tags', 'prompt', 'params', 'evaluations', 'warnings'] as const),
  ...(['logCount', 'droppedLogRecords'] as const),
]);

/**
 * A span as it is shown. Parts that were not requested are absent. Parts over a bound are empty and
 * named in `cut`.
 */
export interface SpanDetail extends Decoded<typeof detailFields>, Partial<Parts> {
  cut: SpanPart[];
  /** Bytes of its requested parts as ClickHouse has read them, also of those that are cut; 0 if they were not counted. */
  storedBytes: number;
}

/**
 * UTF-16 units of the longest texts of a span that are no parts. Even if JSON escapes all of them, it is written in
 * about 20 ms.
 */
const headCharsMax = 1_100_000;

/**
 * Checks that spans can be written without blocking other requests, apart from their parts.
 * @throws LargeTraceError when they must be read in a thread
 */
export function requireSmallHeads(rows: readonly SpanDetail[]): void {
  const isLarge = ({ spanName, statusMessage, traceState, evaluations }: SpanDetail) =>
    spanName.length + statusMessage.length + traceState.length + evaluations.length > headCharsMax;
  if (rows.some(isLarge)) throw new LargeTraceError();
}

/** Returns the fields of the parts. `sqlOf` returns what is selected for a field of a part, given its SQL and name. */
export function partFields(
  parts: readonly SpanPart[],
  sqlOf: (sql: string, part: SpanPart, name: string) => string,
): { [Name in keyof Parts]?: Field<Parts[Name]> } {
  const columns = parts.flatMap((part) =>
    Object.entries(spanParts[part]).map(([name, sql]) => [name, plain(sqlOf(sql, part, name))]),
  );
  return Object.fromEntries(columns);
}
