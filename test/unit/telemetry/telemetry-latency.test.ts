import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLatencyRecorder } from '../../../src/telemetry/latency.ts';

const nearestRank = (sorted: readonly number[], quantile: number) =>
  sorted[Math.ceil(sorted.length * quantile) - 1] ?? Number.NaN;

describe('a latency recorder', () => {
  test('gives quantiles within 4 % of the exact ones', () => {
    const ms = fc.double({ min: 0.02, max: 300_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(ms, { minLength: 1, maxLength: 300 }), (samples) => {
        const recorder = createLatencyRecorder();
        for (const sample of samples) recorder.record('r', sample);
        const sorted = [...samples].sort((a, b) => a - b);
        const { count, p50_ms, p95_ms, p99_ms, last_ms } = recorder.summary('r');
        expect(count).toBe(samples.length);
        expect(last_ms).toBeCloseTo(samples.at(-1) ?? Number.NaN, 2);
        for (const [found, quantile] of [
          [p50_ms, 0.5],
          [p95_ms, 0.95],
          [p99_ms, 0.99],
        ] as const) {
          const exact = nearestRank(sorted, quantile);
          expect(Math.abs((found ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.04 + 0.001);
        }
      }),
    );
  });
  test('forgets what is older than five minutes, also after a long silence', () => {
    let nowMs = 1_000_000_000;
    const recorder = createLatencyRecorder({ nowMs: () => nowMs });
    recorder.record('r', 100);
    nowMs += 4 * 60_000;
    recorder.record('r', 1);
    expect(recorder.summary('r').count).toBe(2);
    nowMs += 2 * 60_000;
    expect(recorder.summary('r')).toMatchObject({ count: 1, last_ms: 1 });
    nowMs += 24 * 3_600_000;
    expect(recorder.summary('r')).toMatchObject({ count: 0, p50_ms: null });
    recorder.record('r', 5);
    expect(recorder.summary('r').count).toBe(1);
  });
  test('takes any number without harm and keeps a bounded number of names', () => {
    const recorder = createLatencyRecorder();
    for (const odd of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12]) recorder.record('odd', odd);
    expect(recorder.summary('odd').count).toBe(5);
    for (let index = 0; index < 1_000; index++) recorder.record(`name-${index}`, 1);
    expect(recorder.names()).toHaveLength(500);
  });
  test('knows nothing of a name never recorded', () => {
    expect(createLatencyRecorder().summary('x')).toEqual({
      count: 0,
      p50_ms: null,
      p95_ms: null,
      p99_ms: null,
      last_ms: null,
    });
  });
});
