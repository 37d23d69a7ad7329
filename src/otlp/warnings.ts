import type { OtlpLimits } from './limits.ts';
import { signalTerms } from './otlp-schema.ts';
import type { Signal } from './signal.ts';

/**
 * What can be changed in a span or log record that is accepted. One bit each, so that recording costs nothing.
 */
export const warning = {
  attributeTruncated: 1,
  attributesDropped: 2,
  eventsDropped: 4,
  linksDropped: 8,
  invalidLink: 16,
  strindexIgnored: 32,
  invalidUtf8: 64,
  endBeforeStart: 128,
  zeroStartTime: 256,
  textTruncated: 512,
} as const;

/** Stable words for the `warnings` of a span or log record, in the order of the bits. */
const words = [
  'attribute_truncated',
  'attributes_dropped',
  'events_dropped',
  'links_dropped',
  'invalid_link_dropped',
  'strindex_ignored',
  'invalid_utf8',
  'end_before_start',
  'zero_start_time',
  'text_truncated',
] as const;

/**
 * Sentences for problems that the sender can fix. The other warnings are only recorded on the span
 * or log record.
 */
const sentences: readonly [bit: number, sentence: (limits: OtlpLimits, signal: Signal) => string][] = [
  [
    warning.attributeTruncated,
    (l, signal) => `${signalTerms[signal].limitedValues} longer than ${l.attributeValueBytesMax} bytes were truncated`,
  ],
  [
    warning.textTruncated,
    (l) => `names and other texts outside of attributes, longer than ${l.attributeValueBytesMax} bytes, were truncated`,
  ],
  [warning.attributesDropped, (l) => `attributes after the first ${l.attributesMax} of a list were dropped`],
  [warning.eventsDropped, (l) => `events after the first ${l.eventsMax} of a span were dropped`],
  [warning.linksDropped, (l) => `links after the first ${l.linksMax} of a span were dropped`],
  [warning.invalidLink, () => 'links without a valid traceId of 16 bytes and spanId of 8 bytes were dropped'],
  [warning.strindexIgnored, () => 'string table references (*Strindex) belong to profiles and were ignored'],
];

const wordSet: ReadonlySet<string> = new Set(words);

/** Returns whether a stored warning comes from decoding rather than from a later step. */
export function isDecodeWarning(word: string): boolean {
  return wordSet.has(word);
}

/** Converts bits of `warning` to stable words. */
export function warningWords(bits: number): string[] {
  return bits === 0 ? [] : words.filter((_, index) => bits & (1 << index));
}

/** Adds the warnings of a shared resource or scope to each of its spans or log records. */
export function noteOnItems(items: readonly { warnings: string[] }[], bits: number): void {
  if (bits === 0) return;
  const added = warningWords(bits);
  for (const { warnings } of items) warnings.push(...added.filter((word) => !warnings.includes(word)));
}

/** Converts bits of `warning` to sentences for the sender. */
export function warningSentences(bits: number, limits: OtlpLimits, signal: Signal): string[] {
  return sentences.filter(([bit]) => bits & bit).map(([, sentence]) => sentence(limits, signal));
}

/**
 * Returns the warnings about times. Times are never changed and never a reason to reject a span.
 */
export function timeWarnings(startUnixNano: bigint, endUnixNano: bigint): number {
  const zero = startUnixNano === 0n ? warning.zeroStartTime : 0;
  return endUnixNano < startUnixNano ? zero | warning.endBeforeStart : zero;
}
