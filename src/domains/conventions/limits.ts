/**
 * Limits of one normalized span. Lengths are UTF-16 units. Cutting loses nothing, because the raw
 * attributes are also stored.
 */
export const limits = {
  /** Longer JSON is kept as text and not parsed. */
  jsonCharsMax: 1_048_576,
  textCharsMax: 1_048_576,
  messagesMax: 1_000,
  /**
   * Deeper JSON is kept as text and not parsed, because parsing half a million brackets takes 200
   * ms.
   */
  jsonDepthMax: 500,
  /**
   * Values read from the JSON and structures of one span, and of one request body: about 0.1 s and
   * 1 s. Further values are kept as sent and not parsed.
   */
  spanValuesMax: 250_000,
  bodyValuesMax: 2_000_000,
  /** Deeper structures are replaced by null. The decoder accepts 100 levels. */
  depthMax: 100,
  previewCharsMax: 200,
  identifierCharsMax: 1_024,
  errorMessageCharsMax: 16_384,
  errorStackCharsMax: 65_536,
  paramsCharsMax: 65_536,
  /** Longer usage details are ignored. Real ones have about ten members. */
  usageCharsMax: 16_384,
  usagePartsMax: 100,
  tagsMax: 64,
  tagCharsMax: 256,
  /** Maximum number of prompts that one span lists. */
  linkedPromptsMax: 32,
  evaluationsMax: 100,
  /** Also limits the metadata of an evaluation, as JSON. */
  explanationCharsMax: 16_384,
  /** A larger token count is an error of the client (2^31 - 1). */
  tokenCountMax: 2_147_483_647,
} as const;
