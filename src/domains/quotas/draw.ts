/** A draw on a rate: `cost` of `limit` units per `windowMs`. `limit` is also the maximum burst. */
export interface RateDraw {
  kind: 'rate';
  /** Name of the limit, for headers and messages. */
  name: string;
  key: string;
  cost: number;
  limit: number;
  windowMs: number;
}

/**
 * A draw on a counter that may not exceed `limit`. `slot` is the field of the counter that the cost
 * is added to.
 */
export interface QuotaDraw {
  kind: 'quota';
  name: string;
  key: string;
  cost: number;
  limit: number;
  slot: string;
  /** Expiry of the counter, in seconds since the epoch. */
  expiresAtS: number;
}

export type Draw = RateDraw | QuotaDraw;

export interface DrawResult {
  draw: Draw;
  /** Whole units left. Negative if a quota was lowered below its use. */
  remaining: number;
  /** Milliseconds until a rate is completely unused again; 0 for a quota. */
  resetMs: number;
  /** Milliseconds until this draw would pass; 0 if it passes now, and for a quota. */
  retryMs: number;
}

export interface DrawOutcome {
  /** Whether all draws were granted. Otherwise none was, and nothing is taken. */
  granted: boolean;
  results: readonly DrawResult[];
}

/** Returns the first draw that does not fit, or undefined if all were granted. */
export function refusedDraw({ granted, results }: DrawOutcome): DrawResult | undefined {
  return granted ? undefined : results.find(({ draw, remaining, retryMs }) => retryMs > 0 || remaining < draw.cost);
}
