import type { SpanPart } from './span-detail.ts';

/** Names, numbers and identifiers of a span, which have limits, about. */
const otherBytes = 1_000;
/** About what an attribute takes besides the texts of its key and value. */
const attributeBytes = 30;

/** Texts of a span that are no parts and may be long. */
const longTexts = 'span_name status_message trace_state error_message error_stack params evaluations'.split(' ');

/** SQL for the bytes of all keys and values of a map. */
const textsOf = (column: string) => `arraySum(${column}.keys.size) + arraySum(${column}.values.size)`;
const maps = 'string int double bool other'.split(' ').map((type) => `attributes_${type}`);

/** An attribute that is the input or the output is stored there only. */
const ofReferred = (column: 'input' | 'output') => `if(${column}_attribute = '', 0, ${column}.size)`;

const sizes: Record<SpanPart, string> = {
  input: 'input.size',
  output: 'output.size',
  attributes: [
    ...[textsOf('attributes_string'), textsOf('attributes_other'), ofReferred('input'), ofReferred('output')],
    `${attributeBytes} * (${maps.map((column) => `${column}.size0`).join(' + ')})`,
  ].join(' + '),
  events: 'events.size',
  links: 'links.size',
  resource: 'resource.size',
  scope: 'scope.size',
};

/**
 * Returns the SQL for about as many bytes as a row has with these parts. ClickHouse stores the sizes of texts apart, and
 * reads them without the texts: of 128 spans of 8 MB in 20 ms. For `length(input)` it would read the texts, because an
 * index has them.
 */
export function storedBytesSql(parts: readonly SpanPart[]): string {
  return [otherBytes, ...longTexts.map((column) => `${column}.size`), ...parts.map((part) => sizes[part])].join(' + ');
}
