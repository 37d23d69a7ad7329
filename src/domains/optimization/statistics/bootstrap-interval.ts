import { setImmediate as nextTurn } from 'node:timers/promises';
import { drawIndex, seededDraws } from './seeded-draws.ts';

/** Mean with its 95 % confidence interval. */
export interface MeanInterval {
  mean: number;
  ci95: readonly [number, number];
}

const resamplesMax = 10_000;
/** Draws between two turns of the event loop: about 2 ms. */
const drawsPerTurn = 50_000;

/**
 * Returns the mean of values with the percentile bootstrap interval of 95 % from 10,000 resamples (B. Efron,
 * 1979). Other work of the process runs in between. The same seed gives the same interval.
 * @throws RangeError without values
 */
export async function bootstrapInterval(values: readonly number[], seed: number): Promise<MeanInterval> {
  if (values.length === 0) throw new RangeError('An interval needs at least one value');
  const draw = seededDraws(seed, 'bootstrap');
  const means = new Float64Array(resamplesMax);
  const perTurn = Math.max(1, Math.floor(drawsPerTurn / values.length));
  for (let at = 0; at < resamplesMax; at++) {
    if (at % perTurn === 0) await nextTurn();
    let sum = 0;
    for (let n = 0; n < values.length; n++) sum += values[drawIndex(draw, values.length)] ?? 0;
    means[at] = sum / values.length;
  }
  means.sort();
  return { mean: meanOf(values), ci95: [quantileOf(means, 0.025), quantileOf(means, 0.975)] };
}

/** Returns the mean; 0 without values. */
export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns a quantile of sorted values, interpolated between neighbors (type 7 of R); 0 without values. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? 0;
  return below + (at - Math.floor(at)) * ((sorted[Math.ceil(at)] ?? below) - below);
}
