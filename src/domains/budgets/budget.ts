import { DateTime } from 'luxon';
import { canonicalTimeZone } from '../../lib/time.ts';

export const periods = ['daily', 'weekly', 'monthly', 'total'] as const;
export const enforcements = ['none', 'block_optimize', 'block_render'] as const;
export const scopeKinds = ['model', 'prompt', 'user', 'environment'] as const;

/** A limit for a part of the spend. */
export interface BudgetScope {
  by: (typeof scopeKinds)[number];
  value: string;
  amountNanoUsd: bigint;
}

/** What a caller sets. */
export interface BudgetInput {
  amountNanoUsd: bigint;
  period: (typeof periods)[number];
  timezone: string;
  /** Ratios of the amount, ascending. */
  thresholds: readonly number[];
  enforcement: (typeof enforcements)[number];
  scopes: readonly BudgetScope[];
  /** Null notifies every webhook that wants the event. */
  webhookIds: readonly string[] | null;
  enabled: boolean;
}

export interface Budget extends BudgetInput {
  projectId: string;
  workspaceId: string;
  version: number;
  updatedAt: Date;
}

/** Returns a text that identifies a version, also after the budget was deleted and set again. */
export function budgetTag({ version, updatedAt }: Pick<Budget, 'version' | 'updatedAt'>): string {
  return `${version}-${updatedAt.getTime()}`;
}

/** From inclusive, to exclusive, in ms since the epoch. A budget without periods has neither. */
export interface Period {
  startMs: number | null;
  endMs: number | null;
}

const units = { daily: 'day', weekly: 'week', monthly: 'month' } as const;

/** Returns the period that contains a time, by the calendar of the time zone. Weeks begin on Monday. */
export function periodOf({ period, timezone }: Pick<BudgetInput, 'period' | 'timezone'>, atMs: number): Period {
  if (period === 'total') return { startMs: null, endMs: null };
  const unit = units[period];
  const start = localTime(atMs, timezone).startOf(unit);
  return {
    startMs: start.toMillis(),
    endMs: start
      .plus({ [unit]: 1 })
      .startOf(unit)
      .toMillis(),
  };
}

/** Returns a time by the calendar of a time zone. Times derived from it have the same zone. */
export function localTime(atMs: number, timezone: string): DateTime {
  return DateTime.fromMillis(atMs, { zone: canonicalTimeZone(timezone) ?? 'UTC' });
}

/** Returns the starts of the last days before a time, oldest first. The last one is today. */
export function dayStarts(timezone: string, nowMs: number, days: number): number[] {
  const today = localTime(nowMs, timezone).startOf('day');
  return Array.from({ length: days + 1 }, (_, index) =>
    today
      .minus({ days: days - index })
      .startOf('day')
      .toMillis(),
  );
}

const billionth = 1_000_000_000n;

/** Returns whether a spend has reached a ratio of an amount, exactly. */
export function hasReached(spend: bigint, amount: bigint, ratio: number): boolean {
  return spend * billionth >= amount * BigInt(Math.round(ratio * Number(billionth)));
}

/** Returns `exceeded` from the amount, and `warning` from the lowest threshold. */
export function stateOf(spend: bigint, amount: bigint, thresholds: readonly number[]): 'ok' | 'warning' | 'exceeded' {
  if (spend >= amount) return 'exceeded';
  return thresholds.some((threshold) => hasReached(spend, amount, threshold)) ? 'warning' : 'ok';
}

/** Identifies a scope within a budget. */
export function scopeKey({ by, value }: Pick<BudgetScope, 'by' | 'value'>): string {
  return `${by}:${value}`;
}
