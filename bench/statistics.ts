/** Summary of latencies for a report. All values are null if there are no latencies. */
export interface LatencySummary {
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
}

/**
 * Returns the smallest value that at least `share` (0 to 1) of all values do not exceed (nearest
 * rank), or null without values.
 */
export function percentile(sorted: ArrayLike<number>, share: number): number | null {
  const rank = Math.max(1, Math.ceil(sorted.length * share));
  return sorted[rank - 1] ?? null;
}

export function summarizeLatencies(latenciesMs: Float64Array, decimals = 1): LatencySummary {
  const sorted = Float64Array.from(latenciesMs).sort();
  const at = (share: number) => {
    const value = percentile(sorted, share);
    return value === null ? null : round(value, decimals);
  };
  return { count: sorted.length, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1) };
}

/** Rounds to a number of decimals. */
export function round(value: number, decimals = 0): number {
  const factor = 10 ** decimals;
  return Math.round(value * factor) / factor;
}
