/** Limits of one feedback. Lengths count UTF-16 units. */
export const feedbackLimits = {
  bodyBytesMax: 16 * 1024,
  nameCharsMax: 100,
  /** Ids of sessions and users. They are in indexes, whose entries have at most 2,704 bytes. */
  idCharsMax: 255,
  valueCharsMax: 4_000,
  commentCharsMax: 8_000,
  correctionCharsMax: 16_000,
  metadataKeysMax: 64,
  metadataKeyCharsMax: 256,
  /** Levels of objects and arrays in `metadata`, itself included. */
  metadataDepthMax: 8,
} as const;

/** Lifetime of a feedback token, in seconds. */
export const tokenTtlS = { min: 60, default: 7 * 86_400, max: 30 * 86_400 } as const;

/** Feedback in the response of one execution. */
export const listedOfExecutionMax = 100;
