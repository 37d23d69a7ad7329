/** A request's claim on a rate: `cost` of `limit` units per `windowMs`, which also is how much may come at once. */
export interface RateDraw {
  kind: 'rate';
  /** Of the limit, for headers and messages. */
  name: string;
  key: string;
  cost: number;
  limit: number;
  windowMs: number;
}

/** A claim on a counter that may not pass `limit`; `slot` is the counter's part that it is entered in. */
export interface QuotaDraw {
  kind: 'quota';
  name: string;
  key: string;
  cost: number;
  limit: number;
  slot: string;
  /** When the counter may be forgotten, in seconds since the epoch. */
  expiresAtS: number;
}

export type Draw = RateDraw | QuotaDraw;

export interface DrawResult {
  draw: Draw;
  /** Whole units left; below 0 where a quota was lowered below what is used. */
  remaining: number;
  /** Until nothing of a rate is used any more; 0 for a quota. */
  resetMs: number;
  /** Until this draw would pass; 0 when it does, and for a quota. */
  retryMs: number;
}

export interface DrawOutcome {
  /** Whether all draws were granted; otherwise none was, and nothing is taken. */
  granted: boolean;
  results: readonly DrawResult[];
}

/** The first draw that does not fit, of an outcome that was not granted. */
export function refusedDraw({ granted, results }: DrawOutcome): DrawResult | undefined {
  return granted ? undefined : results.find(({ draw, remaining, retryMs }) => retryMs > 0 || remaining < draw.cost);
}
