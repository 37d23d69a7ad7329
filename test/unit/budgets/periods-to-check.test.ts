import { expect, test } from 'vitest';
import { periodsToCheck } from '../../../src/domains/budgets/periods-to-check.ts';

const hourMs = 3_600_000;
const [before, began, ends] = [1, 2, 3].map((day) => Date.UTC(2026, 5, day)) as [number, number, number];
const nowMs = began + 10 * hourMs;
const facts = { period: 'daily' as const, updatedAtMs: 0, checkedAtMs: nowMs - 10_000, firstStartMs: began, nowMs };

const startsOf = (given: Partial<Omit<typeof facts, 'period'>> & { period?: 'daily' | 'weekly' | 'total' }) => {
  const { period, updatedAtMs, nowMs: atMs, ...due } = { ...facts, ...given };
  const budget = { period, timezone: 'UTC', updatedAt: new Date(updatedAtMs) };
  return periodsToCheck(budget, due, atMs).map(({ startMs }) => startMs);
};

test.each<[string, Parameters<typeof startsOf>[0], (number | null)[]]>([
  ['with executions of this period only, is not summed', {}, [began]],
  ['with an execution that began in it, is summed', { firstStartMs: began - 1 }, [before, began]],
  ['after a check that is too old to know what arrived, is summed', { firstStartMs: 0 }, [before, began]],
  ['that ended before the version was stored, is not summed', { firstStartMs: 0, updatedAtMs: began }, [began]],
  ['in which the version was stored, is summed', { firstStartMs: 0, updatedAtMs: began - 1 }, [before, began]],
  ['in which the last check was, is summed', { checkedAtMs: began + 20_000 }, [before, began]],
])('the period before the current one, %s', (_circumstance, given, expected) => {
  expect(startsOf(given)).toEqual(expected);
});

test('a week that ended more than a day ago is not summed, whatever arrives', () => {
  const [week, next] = [Date.UTC(2026, 4, 25), Date.UTC(2026, 5, 1)];
  const weekly = (atMs: number) => startsOf({ period: 'weekly', firstStartMs: 0, checkedAtMs: atMs, nowMs: atMs });
  expect(weekly(next + 24 * hourMs - 1)).toEqual([week, next]);
  expect(weekly(next + 24 * hourMs)).toEqual([next]);
});

test('after an outage of days, the period of the last check and the one before the current are summed', () => {
  const checkedAtMs = before - 48 * hourMs;
  expect(startsOf({ checkedAtMs, firstStartMs: 0, nowMs: ends - 1 })).toEqual([
    checkedAtMs - 24 * hourMs,
    before,
    began,
  ]);
});

test('a budget without periods is summed once', () => {
  expect(startsOf({ period: 'total', firstStartMs: 0 })).toEqual([null]);
});
