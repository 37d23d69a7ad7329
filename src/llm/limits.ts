/** Bounds of calls to one endpoint. All processes that use the same Redis share them. */
export interface LlmLimits {
  /** Requests in progress, and those of one sharer (a workspace). */
  concurrencyMax: number;
  concurrencyOfSharerMax: number;
  /** Requests that may start within a minute, and those of one sharer. */
  ratePerMinute: number;
  ratePerMinuteOfSharer: number;
  /** Requests of a process that died or is frozen no longer count after this time. A process that lives renews it. */
  leaseMs: number;
  /** How long one attempt may take, from the connection to the last byte. */
  timeoutMs: number;
  /** How long a call waits for a place before it fails. */
  waitMsMax: number;
  replyBytesMax: number;
  /** UTF-16 units of the text of a response. */
  textCharsMax: number;
  /** Attempts of one call, with the first. */
  attemptsMax: number;
  /** The longest pause that a `Retry-After` of the endpoint may ask for. */
  retryAfterMsMax: number;
  backoffMsMin: number;
  backoffMsMax: number;
}

export const defaultLlmLimits: LlmLimits = {
  concurrencyMax: 64,
  concurrencyOfSharerMax: 32,
  ratePerMinute: 6_000,
  ratePerMinuteOfSharer: 3_000,
  leaseMs: 15_000,
  timeoutMs: 120_000,
  waitMsMax: 300_000,
  replyBytesMax: 4 * 1024 * 1024,
  textCharsMax: 128 * 1024,
  attemptsMax: 4,
  retryAfterMsMax: 30_000,
  backoffMsMin: 250,
  backoffMsMax: 8_000,
};
