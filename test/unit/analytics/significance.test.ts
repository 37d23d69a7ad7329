import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fisherExact, holm, welch } from '../../../src/domains/analytics/significance.ts';

const proportion = fc
  .integer({ min: 1, max: 400 })
  .chain((size) => fc.record({ size: fc.constant(size), hits: fc.integer({ min: 0, max: size }) }));
const sample = fc.record({
  size: fc.integer({ min: 2, max: 5_000 }),
  mean: fc.double({ min: -50, max: 50, noNaN: true }),
  variance: fc.double({ min: 1e-6, max: 100, noNaN: true }),
});

// fisher.test(matrix(c(3, 1, 1, 3), 2)) and fisher.test(matrix(c(1, 9, 11, 3), 2)) of R.
test.each([
  [{ hits: 3, size: 4 }, { hits: 1, size: 4 }, 0.485_714_3],
  [{ hits: 1, size: 10 }, { hits: 11, size: 14 }, 0.002_759_456],
  [{ hits: 0, size: 10 }, { hits: 0, size: 20 }, 1],
])('Fisher: %j and %j give the p-value of R', (a, b, expected) => {
  expect(fisherExact(a, b)).toBeCloseTo(expected, 6);
});

// 2 * pt(-2, 10) of R: equal variances and sizes of 6 have ten degrees of freedom.
test('Welch: t = 2 with ten degrees of freedom gives the p-value of R', () => {
  const variance = 3;
  expect(welch({ size: 6, mean: 2, variance }, { size: 6, mean: 0, variance })).toBeCloseTo(0.073_388_03, 7);
});

// 2 * pnorm(-1.959964) of R.
test('Welch: with very large samples t is normal', () => {
  const [size, variance] = [10_000_000, 5_000_000];
  expect(welch({ size, mean: 1.959_964, variance }, { size, mean: 0, variance })).toBeCloseTo(0.05, 6);
});

test('constant samples are equal or not', () => {
  const constant = (mean: number) => ({ size: 40, mean, variance: 0 });
  expect(welch(constant(1), constant(1))).toBe(1);
  expect(welch(constant(1), constant(2))).toBe(0);
});

test('Welch: equal values whose sums were rounded are equal', () => {
  const logCost = Math.log(1_000);
  const of = (size: number) => {
    let [sum, squares] = [0, 0];
    for (let call = 0; call < size; call++) [sum, squares] = [sum + logCost, squares + logCost ** 2];
    return { size, mean: sum / size, variance: Math.max(0, (squares - sum ** 2 / size) / (size - 1)) };
  };
  for (let size = 30; size < 400; size += 7) expect(welch(of(size), of(size + 2)), String(size)).toBeGreaterThan(0.9);
});

test('Fisher: five million calls take less than a turn of the event loop, and the p-value is that of the normal test', () => {
  const startedAtMs = performance.now();
  const p = fisherExact({ hits: 1_000_000, size: 5_000_000 }, { hits: 1_002_480, size: 5_000_000 });
  expect(performance.now() - startedAtMs).toBeLessThan(50);
  // z = 1.96 has 0.05.
  expect(p).toBeCloseTo(0.05, 2);
});

test('a p-value is between 0 and 1, the same in both orders, and 1 for the same data', () => {
  fc.assert(
    fc.property(proportion, proportion, sample, sample, (a, b, left, right) => {
      for (const p of [fisherExact(a, b), welch(left, right)]) {
        expect(p).toBeGreaterThanOrEqual(0);
        expect(p).toBeLessThanOrEqual(1 + 1e-9);
      }
      expect(fisherExact(a, b)).toBeCloseTo(fisherExact(b, a), 9);
      expect(welch(left, right)).toBeCloseTo(welch(right, left), 9);
      expect(fisherExact(a, a)).toBeCloseTo(1, 9);
      expect(welch(left, left)).toBeCloseTo(1, 9);
    }),
  );
});

test('a larger difference of means has a smaller p-value', () => {
  fc.assert(
    fc.property(sample, fc.double({ min: 0.01, max: 5, noNaN: true }), (base, step) => {
      const shifted = (by: number) => ({ ...base, mean: base.mean + by });
      expect(welch(base, shifted(2 * step))).toBeLessThanOrEqual(welch(base, shifted(step)) + 1e-12);
    }),
  );
});

test('Holm: the smallest of three is tripled, and none is less than one before it', () => {
  expect(holm([0.04, 0.01, 0.03])).toEqual([expect.closeTo(0.06), expect.closeTo(0.03), expect.closeTo(0.06)]);
  expect(holm([])).toEqual([]);
  expect(holm([0.9, 0.8])).toEqual([1, 1]);
});
