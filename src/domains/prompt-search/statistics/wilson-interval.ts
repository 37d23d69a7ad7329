import type { MeanInterval } from './bootstrap-interval.ts';

/** The 97.5 % quantile of the normal distribution. */
const z = 1.959_963_984_540_054;

/**
 * Returns a share with its interval of 95 % (E. B. Wilson, 1927).
 * @throws RangeError if there was no trial
 */
export function wilsonInterval(hits: number, trials: number): MeanInterval {
  if (trials <= 0) throw new RangeError('A share needs at least one trial');
  const share = hits / trials;
  const shrink = 1 + z ** 2 / trials;
  const center = (share + z ** 2 / (2 * trials)) / shrink;
  const half = (z / shrink) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2));
  // Rounding must not put the share outside of its own interval.
  return {
    mean: share,
    ci95: [Math.max(0, Math.min(share, center - half)), Math.min(1, Math.max(share, center + half))],
  };
}
