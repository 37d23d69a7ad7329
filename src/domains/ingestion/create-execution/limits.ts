import { defaultOtlpLimits } from '../../../otlp/limits.ts';
import { limits as normalized } from '../../conventions/index.ts';

const mebibyte = 1024 * 1024;

/**
 * Bounds of one posted execution. They lie within the bounds of OTLP and of normalized spans, so
 * that nothing accepted is cut later. Sizes of values count the UTF-8 bytes of their JSON (of a
 * string: its own bytes); lengths count UTF-16 units.
 */
export const executionLimits = {
  bodyBytesMax: 8 * mebibyte,
  /** Including the root span. */
  spansMax: defaultOtlpLimits.spansMax,
  /** Names, models, user ids and similar. */
  textCharsMax: normalized.identifierCharsMax,
  errorMessageCharsMax: normalized.errorMessageCharsMax,
  /** Input and output, each. */
  contentBytesMax: defaultOtlpLimits.attributeValueBytesMax,
  /** Keys of all variables, or of all metadata, of one span. */
  entriesMax: 128,
  /** Of a key at any level. */
  keyCharsMax: 256,
  variablesBytesMax: defaultOtlpLimits.attributeValueBytesMax,
  metadataBytesMax: mebibyte / 4,
  /** Levels of objects and arrays below `variables` and `metadata`. */
  entryDepthMax: 8,
  tagsMax: normalized.tagsMax,
  tagCharsMax: normalized.tagCharsMax,
  tokensMax: normalized.tokenCountMax,
  /** Up to this amount a double represents nano-dollars exactly. */
  costUsdMax: 1_000_000,
  /** A leap year. */
  durationMsMax: 366 * 86_400_000,
} as const;
