/** Limits on the log records of one span. What is over them is stored, and neither read nor shown. */
export const recordLimits = {
  /** Records with a meaning for the content of the span. */
  genAi: { records: 2_048, bytes: 8 * 1024 * 1024 },
  /** The application's own lines: the earliest ones. */
  other: { records: 100 },
  /** A larger line of an application is dropped. */
  otherBytesMax: 16 * 1024,
} as const;
