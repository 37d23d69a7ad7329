/** Quantiles of the time window, in milliseconds; null when nothing was recorded in it. */
export interface LatencySummary {
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  last_ms: number | null;
}

export interface LatencyRecorder {
  record(name: string, ms: number): void;
  summary(name: string): LatencySummary;
  /** Returns all recorded names, in order of first appearance. */
  names(): string[];
}

/**
 * Creates a recorder of quantiles over the last five minutes in fixed memory. It uses logarithmic
 * buckets as in DDSketch (Masson, Rim, Lee, VLDB 2019), one set per half minute. Recording is one
 * increment; a quantile has an error of at most 4 %.
 */
export function createLatencyRecorder({ nowMs = Date.now }: { nowMs?: () => number } = {}): LatencyRecorder {
  const series = new Map<string, Series>();
  return {
    record(name, ms) {
      const found = series.get(name) ?? (series.size < namesMax ? createSeries() : undefined);
      if (!found) return;
      series.set(name, found);
      found.record(ms, Math.floor(nowMs() / sliceMs));
    },
    summary: (name) => series.get(name)?.summary(Math.floor(nowMs() / sliceMs)) ?? empty,
    names: () => [...series.keys()],
  };
}

const sliceMs = 30_000;
const slices = 10;
const namesMax = 500;
const growth = 1.08;
const leastMs = 0.01;
/** Covers 0.01 ms to over ten minutes. */
const buckets = 240;
const empty: LatencySummary = { count: 0, p50_ms: null, p95_ms: null, p99_ms: null, last_ms: null };

interface Series {
  record(ms: number, slice: number): void;
  summary(slice: number): LatencySummary;
}

function createSeries(): Series {
  const counts = new Uint32Array(slices * buckets);
  /** The time slice that each row of `counts` currently holds. */
  const held = new Array<number>(slices).fill(Number.NEGATIVE_INFINITY);
  let lastMs: number | null = null;

  return {
    record(ms, slice) {
      const row = slice % slices;
      if (held[row] !== slice) {
        counts.fill(0, row * buckets, (row + 1) * buckets);
        held[row] = slice;
      }
      const at = row * buckets + bucketOf(ms);
      counts[at] = (counts[at] ?? 0) + 1;
      lastMs = ms;
    },
    summary(slice) {
      const sums = new Float64Array(buckets);
      let count = 0;
      for (const [row, heldSlice] of held.entries()) {
        if (heldSlice <= slice - slices) continue;
        for (let bucket = 0; bucket < buckets; bucket++) {
          const samples = counts[row * buckets + bucket] ?? 0;
          sums[bucket] = (sums[bucket] ?? 0) + samples;
          count += samples;
        }
      }
      const at = (quantile: number) => quantileOf(sums, count, quantile);
      return {
        count,
        p50_ms: at(0.5),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        last_ms: lastMs === null ? null : rounded(lastMs),
      };
    },
  };
}

function bucketOf(ms: number): number {
  if (!(ms > leastMs)) return 0;
  return Math.min(buckets - 1, Math.ceil(Math.log(ms / leastMs) / Math.log(growth)));
}

function quantileOf(sums: Float64Array, count: number, quantile: number): number | null {
  let left = Math.ceil(count * quantile);
  if (left === 0) return null;
  for (const [bucket, samples] of sums.entries()) {
    left -= samples;
    // The point of the bucket with the same ratio to both edges.
    if (left <= 0) return rounded(leastMs * growth ** (bucket - 0.5));
  }
  return null;
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000;
