import { bootstrapInterval, type MeanInterval } from './bootstrap-interval.ts';
import { wilsonInterval } from './wilson-interval.ts';

/**
 * Returns the mean of scores with its interval of 95 %: Wilson's if all are 0 or 1, otherwise the bootstrap's.
 * @throws RangeError without scores
 */
export async function meanInterval(
  scores: readonly number[],
  { isBinary, seed }: { isBinary: boolean; seed: number },
): Promise<MeanInterval> {
  if (!isBinary) return await bootstrapInterval(scores, seed);
  return wilsonInterval(scores.filter((score) => score === 1).length, scores.length);
}
