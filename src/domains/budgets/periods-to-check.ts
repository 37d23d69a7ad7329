import { type Budget, type Period, periodOf } from './budget.ts';

/** Spans are read again for this time, because clocks differ and rows become visible later. */
export const overlapMs = 30_000;
/** Spans of a period that arrive later after its end reach no thresholds. */
const lateMsMax = 24 * 60 * 60_000;

/**
 * Returns the periods whose spend can have grown since the last check, in their order: the current one, and that of the
 * last check, for spans that came between that check and its end. For a day also the one before the current one, if an
 * execution arrived that began in it or earlier: without this condition, each check would sum two periods.
 * A version does not look back to a period that had ended before it was stored.
 */
export function periodsToCheck(
  budget: Pick<Budget, 'period' | 'timezone' | 'updatedAt'>,
  { checkedAtMs, firstStartMs }: { checkedAtMs: number; firstStartMs: number },
  nowMs: number,
): Period[] {
  const current = periodOf(budget, nowMs);
  const beganAtMs = current.startMs ?? 0;
  const updatedAtMs = budget.updatedAt.getTime();
  const hasLateSpans = Math.max(firstStartMs, updatedAtMs, nowMs - lateMsMax) < beganAtMs;
  const before = [Math.max(checkedAtMs - overlapMs, updatedAtMs), ...(hasLateSpans ? [beganAtMs - 1] : [])];
  const periods = [...before.map((atMs) => periodOf(budget, Math.min(atMs, nowMs))), current];
  const distinct = new Map(periods.map((period) => [period.startMs, period]));
  return [...distinct.values()].toSorted((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0));
}
