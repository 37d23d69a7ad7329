import { defaultOtlpLimits } from '../../../otlp/limits.ts';
import { limits as normalised } from '../../conventions/index.ts';

const mebibyte = 1024 * 1024;

/**
 * Bounds of one posted execution, within those of OTLP and of normalised spans, so that nothing that is accepted is cut later.
 * Bytes of values are those of their JSON (of a text: its own) in UTF-8, lengths are UTF-16 units.
 */
export const executionLimits = {
  bodyBytesMax: 8 * mebibyte,
  /** The root included. */
  spansMax: defaultOtlpLimits.spansMax,
  /** Names, models, ids of users and the like. */
  textCharsMax: normalised.identifierCharsMax,
  errorMessageCharsMax: normalised.errorMessageCharsMax,
  /** Input and output, each. */
  contentBytesMax: defaultOtlpLimits.attributeValueBytesMax,
  /** All variables, or all metadata, of one span. */
  entriesMax: 128,
  keyCharsMax: 256,
  variablesBytesMax: defaultOtlpLimits.attributeValueBytesMax,
  metadataBytesMax: mebibyte / 4,
  /** Levels of objects and arrays below `variables` and `metadata`. */
  entryDepthMax: 8,
  tagsMax: normalised.tagsMax,
  tagCharsMax: normalised.tagCharsMax,
  tokensMax: normalised.tokenCountMax,
  /** Up to here a double has the nano-dollar exactly. */
  costUsdMax: 1_000_000,
  /** A leap year. */
  durationMsMax: 366 * 86_400_000,
} as const;
