import { describe, expect, it } from 'vitest';
import { percentile, round, summarizeLatencies } from '../../../bench/statistics.ts';

describe('percentile', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);

  it.each([
    [0, 1],
    [0.5, 50],
    [0.95, 95],
    [0.99, 99],
    [0.991, 100],
    [1, 100],
  ])('of 1 to 100 at %d is the value of its nearest rank, %d', (share, expected) => {
    expect(percentile(hundred, share)).toBe(expected);
  });

  it('of one value is that value at every share', () => {
    expect([0, 0.5, 1].map((share) => percentile([7], share))).toEqual([7, 7, 7]);
  });

  it('of nothing is null', () => {
    expect(percentile([], 0.5)).toBeNull();
  });
});

describe('summarizeLatencies', () => {
  it('of unsorted values sorts by size, not by text, and leaves its argument as it was', () => {
    const latenciesMs = Float64Array.of(100, 9, 20.26, 3);
    expect(summarizeLatencies(latenciesMs)).toEqual({ count: 4, p50_ms: 9, p95_ms: 100, p99_ms: 100, max_ms: 100 });
    expect([...latenciesMs]).toEqual([100, 9, 20.26, 3]);
  });

  it('of nothing says so instead of zero', () => {
    expect(summarizeLatencies(new Float64Array())).toEqual({
      count: 0,
      p50_ms: null,
      p95_ms: null,
      p99_ms: null,
      max_ms: null,
    });
  });
});

describe('round', () => {
  it('keeps the decimals that were asked for', () => {
    expect([round(1234.567), round(1234.567, 2), round(0.04, 1)]).toEqual([1235, 1234.57, 0]);
  });
});
