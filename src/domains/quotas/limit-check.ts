/** A check on a rate: `cost` of `limit` units per `windowMs`. `limit` is also the maximum burst. */
export interface RateCheck {
  kind: 'rate';
  /** Name of the limit, for headers and messages. */
  name: string;
  key: string;
  cost: number;
  limit: number;
  windowMs: number;
}

/**
 * A check on a counter that may not exceed `limit`. `slot` is the field of the counter that the cost
 * is added to as well; '' for none.
 */
export interface QuotaCheck {
  kind: 'quota';
  name: string;
  key: string;
  cost: number;
  limit: number;
  slot: string;
  /** Expiry of the counter, in seconds since the epoch. */
  expiresAtS: number;
}

export type LimitCheck = RateCheck | QuotaCheck;

export interface LimitResult {
  check: LimitCheck;
  /** Whole units left. Negative if a quota was lowered below its use. */
  remaining: number;
  /** Milliseconds until a rate is completely unused again; 0 for a quota. */
  resetMs: number;
  /** Milliseconds until this check would pass; 0 if it passes now, and for a quota. */
  retryMs: number;
}

export interface LimitOutcome {
  /** Whether all checks were granted. Otherwise none was, and nothing is taken. */
  granted: boolean;
  results: readonly LimitResult[];
}

/** Returns the first check that does not fit, or undefined if all were granted. */
export function refusedCheck({ granted, results }: LimitOutcome): LimitResult | undefined {
  return granted ? undefined : results.find(({ check, remaining, retryMs }) => retryMs > 0 || remaining < check.cost);
}
