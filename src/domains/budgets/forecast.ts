import { localTime, type Period } from './budget.ts';
import type { Spend } from './spend-queries.ts';

const dayMs = 86_400_000;
const weeksMin = 3;

export interface Forecast {
  /** Null for a budget without periods. */
  periodEndSpend: bigint | null;
  exhaustsAtMs: number | null;
  method: 'linear' | 'weekly';
}

/**
 * Continues the spend to the end of the period: by the mean of each weekday of the last four weeks, from the first
 * day with a spend, if there are at least three whole weeks of history. Otherwise at the pace of the period so far.
 */
export function forecastSpend(
  { total, days }: Pick<Spend, 'total' | 'days'>,
  {
    period,
    amount,
    nowMs,
    timezone,
    starts,
  }: { period: Period; amount: bigint | null; nowMs: number; timezone: string; starts: readonly number[] },
): Forecast {
  const history = starts.slice(0, -1);
  const first = history.find((startMs) => (days.get(startMs) ?? 0n) > 0n);
  const isWeekly = first !== undefined && nowMs - first >= weeksMin * 7 * dayMs;
  const method = isWeekly ? 'weekly' : 'linear';
  const exhausted = amount !== null && total >= amount;
  if (period.startMs === null || period.endMs === null) {
    return { periodEndSpend: null, exhaustsAtMs: exhausted ? nowMs : null, method };
  }
  const known = history.filter((startMs) => first !== undefined && startMs >= first);
  const rates = isWeekly ? weekdayMeans(days, known, timezone) : undefined;
  const elapsedMs = Math.max(1, nowMs - period.startMs);
  const perMs = Number(total) / elapsedMs;
  let atMs = nowMs;
  let spend = Number(total);
  let exhaustsAtMs = exhausted ? nowMs : null;
  while (atMs < period.endMs) {
    const at = localTime(atMs, timezone);
    const start = at.startOf('day');
    const nextMs = start.plus({ days: 1 }).startOf('day').toMillis();
    const untilMs = Math.min(nextMs, period.endMs);
    const rate = rates === undefined ? perMs : (rates[at.weekday - 1] ?? 0) / (nextMs - start.toMillis());
    const added = rate * (untilMs - atMs);
    if (exhaustsAtMs === null && amount !== null && rate > 0 && spend + added >= Number(amount)) {
      exhaustsAtMs = Math.round(atMs + (Number(amount) - spend) / rate);
    }
    spend += added;
    atMs = untilMs;
  }
  const periodEndSpend = BigInt(Math.round(spend));
  return { periodEndSpend: periodEndSpend > total ? periodEndSpend : total, exhaustsAtMs, method };
}

/** The days must contain every weekday. */
function weekdayMeans(days: Spend['days'], known: readonly number[], timezone: string): number[] {
  const spends = Array.from({ length: 7 }, (): number[] => []);
  for (const startMs of known) {
    spends[localTime(startMs, timezone).weekday - 1]?.push(Number(days.get(startMs) ?? 0n));
  }
  return spends.map((ofWeekday) => ofWeekday.reduce((sum, each) => sum + each, 0) / ofWeekday.length);
}
