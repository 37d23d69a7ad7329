import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayStarts, hasReached, periodOf, periods, stateOf } from '../../../src/domains/budgets/budget.ts';
import { forecastSpend } from '../../../src/domains/budgets/forecast.ts';

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/New_York',
];
const dayMs = 86_400_000;

describe('periods', () => {
  test('contain their time and follow each other without a gap, in every zone', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...periods.filter((each) => each !== 'total')),
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) }),
        (timezone, period, atMs) => {
          const { startMs, endMs } = periodOf({ timezone, period }, atMs);
          if (startMs === null || endMs === null) throw new Error('It has periods');
          expect(startMs).toBeLessThanOrEqual(atMs);
          expect(endMs).toBeGreaterThan(atMs);
          expect(periodOf({ timezone, period }, startMs)).toEqual({ startMs, endMs });
          expect(periodOf({ timezone, period }, endMs - 1)).toEqual({ startMs, endMs });
          expect(periodOf({ timezone, period }, endMs).startMs).toBe(endMs);
        },
      ),
    );
  });

  test('a day has 23 hours when clocks are put forward', () => {
    const { startMs, endMs } = periodOf({ timezone: 'Europe/Berlin', period: 'daily' }, Date.UTC(2026, 2, 29, 12));
    expect((endMs ?? 0) - (startMs ?? 0)).toBe(23 * 3_600_000);
  });
});

test('thresholds and states are exact to the nano-dollar', () => {
  expect(hasReached(799_999_999n, 1_000_000_000n, 0.8)).toBe(false);
  expect(hasReached(800_000_000n, 1_000_000_000n, 0.8)).toBe(true);
  expect(stateOf(999_999_999n, 1_000_000_000n, [])).toBe('ok');
  expect(stateOf(1_000_000_000n, 1_000_000_000n, [])).toBe('exceeded');
});

describe('forecast', () => {
  const period = { startMs: Date.UTC(2026, 10, 1), endMs: Date.UTC(2026, 11, 1) };
  const nowMs = Date.UTC(2026, 10, 16);
  const starts = dayStarts('UTC', nowMs, 28);
  const facts = { period, nowMs, timezone: 'UTC', starts };

  test('without history, the pace of the period so far goes on', () => {
    const forecast = forecastSpend({ total: 15_000n, days: new Map() }, { ...facts, amount: 20_000n });
    expect(forecast).toEqual({
      periodEndSpend: 30_000n,
      exhaustsAtMs: nowMs + 5 * dayMs,
      method: 'linear',
    });
  });

  test('with four weeks of history, each weekday has its mean', () => {
    const days = new Map(starts.map((startMs) => [startMs, new Date(startMs).getUTCDay() === 1 ? 700n : 0n]));
    const forecast = forecastSpend({ total: 1_000n, days }, { ...facts, amount: null });
    // Mondays left: the 16th, the 23rd and the 30th.
    expect(forecast).toEqual({ periodEndSpend: 3_100n, exhaustsAtMs: null, method: 'weekly' });
  });

  test.each([21, 24, 27, 28])('after %i days with the same spend, every day that is left has this spend', (count) => {
    const days = new Map(starts.slice(-count - 1, -1).map((startMs) => [startMs, 100n]));
    const { periodEndSpend, method } = forecastSpend({ total: 1_500n, days }, { ...facts, amount: null });
    expect([periodEndSpend, method]).toEqual([1_500n + 15n * 100n, 'weekly']);
  });

  test('an exceeded budget is exhausted now', () => {
    expect(forecastSpend({ total: 2n, days: new Map() }, { ...facts, amount: 1n }).exhaustsAtMs).toBe(nowMs);
  });
});
