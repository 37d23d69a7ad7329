/** Bounds of one normalised span. Raw attributes are kept elsewhere, so cutting here loses nothing. Lengths are UTF-16 units. */
export const limits = {
  /** Longer JSON is kept as text, unparsed. */
  jsonCharsMax: 1_048_576,
  textCharsMax: 1_048_576,
  messagesMax: 1_000,
  /** JSON nested deeper is kept as text, unparsed: parsing half a million brackets takes 200 ms. */
  jsonDepthMax: 500,
  /** Values read of the JSON and structures of one span, and of one body: about 0.1 s and 1 s. The rest is kept as sent, unparsed. */
  spanValuesMax: 250_000,
  bodyValuesMax: 2_000_000,
  /** Deeper structures are replaced by null; the decoder accepts 100. */
  depthMax: 100,
  previewCharsMax: 200,
  identifierCharsMax: 1_024,
  errorMessageCharsMax: 16_384,
  errorStackCharsMax: 65_536,
  paramsCharsMax: 65_536,
  /** Longer usage details are none: real ones have some ten parts. */
  usageCharsMax: 16_384,
  usagePartsMax: 100,
  tagsMax: 64,
  tagCharsMax: 256,
  /** Prompts that one span lists. */
  linkedPromptsMax: 32,
  evaluationsMax: 100,
  /** Also of an evaluation's metadata as JSON. */
  explanationCharsMax: 16_384,
  /** A token count above this is a fault of the client, not a count (2^31 - 1). */
  tokenCountMax: 2_147_483_647,
} as const;
