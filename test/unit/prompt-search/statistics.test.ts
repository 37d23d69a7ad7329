import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bootstrapInterval, quantileOf } from '../../../src/domains/prompt-search/statistics/bootstrap-interval.ts';
import { mcnemarExact } from '../../../src/domains/prompt-search/statistics/mcnemar.ts';
import { seededDraws, shuffled } from '../../../src/domains/prompt-search/statistics/seeded-draws.ts';
import { wilsonInterval } from '../../../src/domains/prompt-search/statistics/wilson-interval.ts';

describe('the interval of Wilson', () => {
  // As `binom.confint(x, n, methods = "wilson")` of R's package binom gives them.
  test.each([
    [8, 10, 0.4901625, 0.9433178],
    [0, 10, 0, 0.2775328],
    [10, 10, 0.7224672, 1],
    [1, 1, 0.2065493, 1],
    [50, 100, 0.4038315, 0.5961685],
  ])('of %i hits in %i trials is known', (hits, trials, low, high) => {
    const { mean, ci95 } = wilsonInterval(hits, trials);
    expect(mean).toBe(hits / trials);
    expect(ci95[0]).toBeCloseTo(low, 6);
    expect(ci95[1]).toBeCloseTo(high, 6);
  });

  test('needs a trial', () => {
    expect(() => wilsonInterval(0, 0)).toThrow(RangeError);
    // Rounding must not put a share outside of its own interval.
    for (let trials = 1; trials <= 100; trials++) {
      expect(wilsonInterval(0, trials).ci95[0]).toBe(0);
      expect(wilsonInterval(trials, trials).ci95[1]).toBe(1);
    }
  });
});

/** The definition, with whole numbers of any size. */
function exactTwoSided(gained: number, lost: number): number {
  const pairs = gained + lost;
  let [each, sum] = [1n, 0n];
  for (let k = 0; k <= Math.min(gained, lost); k++) {
    sum += each;
    each = (each * BigInt(pairs - k)) / BigInt(k + 1);
  }
  const scale = 10n ** 30n;
  return Math.min(1, Number((2n * sum * scale) / 2n ** BigInt(pairs)) / 1e30);
}

describe('the exact test of McNemar', () => {
  // As `binom.test(gained, gained + lost)` of R gives them.
  test.each([
    [10, 2, 0.03857422],
    [5, 0, 0.0625],
    [6, 0, 0.03125],
    [7, 7, 1],
    [0, 0, 1],
    [1, 9, 0.02148438],
  ])('of %i gained and %i lost has a known p', (gained, lost, p) => {
    expect(mcnemarExact(gained, lost)).toBeCloseTo(p, 7);
  });

  test('is the sum of binomial probabilities, also for thousands of pairs', () => {
    const counts = fc.integer({ min: 0, max: 2_000 });
    fc.assert(
      fc.property(counts, counts, (gained, lost) => {
        expect(Math.abs(mcnemarExact(gained, lost) - exactTwoSided(gained, lost))).toBeLessThan(1e-9);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the bootstrap interval', () => {
  test('of two values that differ spans both, because a quarter of the resamples has one value only', async () => {
    expect(await bootstrapInterval([0, 1], 1)).toEqual({ mean: 0.5, ci95: [0, 1] });
  });

  test('of equal values is that value', async () => {
    expect(await bootstrapInterval([0.25, 0.25, 0.25], 1)).toEqual({ mean: 0.25, ci95: [0.25, 0.25] });
  });

  test('of many values is near that of the normal distribution', async () => {
    const draw = seededDraws(3, 'values');
    const values = Array.from({ length: 400 }, () => draw() + draw() + draw());
    const { mean, ci95 } = await bootstrapInterval(values, 1);
    const deviation = Math.sqrt(values.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (values.length - 1));
    const half = (1.96 * deviation) / Math.sqrt(values.length);
    expect(ci95[0]).toBeCloseTo(mean - half, 2);
    expect(ci95[1]).toBeCloseTo(mean + half, 2);
  });

  test('is the same for the same seed', async () => {
    const values = [0, 0.2, 1, 0.7, 0.4, 1, 0, 0.1];
    expect(await bootstrapInterval(values, 7)).toEqual(await bootstrapInterval(values, 7));
  });

  test('needs a value', async () => {
    await expect(bootstrapInterval([], 1)).rejects.toThrow(RangeError);
  });
});

test('quantiles are interpolated as type 7 of R', () => {
  expect(quantileOf([1, 2, 3, 4], 0.25)).toBe(1.75);
  expect(quantileOf([], 0.5)).toBe(0);
});

test('draws of a purpose and an iteration do not depend on other draws', () => {
  const items = Array.from({ length: 20 }, (_, index) => index);
  const order = shuffled(seededDraws(1, 'a', 3), items);
  seededDraws(1, 'b', 3)();
  expect(shuffled(seededDraws(1, 'a', 3), items)).toEqual(order);
  expect(order.toSorted((a, b) => a - b)).toEqual(items);
  expect(shuffled(seededDraws(2, 'a', 3), items)).not.toEqual(order);
});
