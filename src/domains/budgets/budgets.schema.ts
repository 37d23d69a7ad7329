import { z } from 'zod';
import { formatUsd, parseUsd } from '../../lib/money.ts';
import { isTimeZone } from '../analytics/index.ts';
import {
  type Budget,
  type BudgetInput,
  enforcements,
  hasReached,
  type Period,
  periods,
  scopeKey,
  scopeKinds,
  stateOf,
} from './budget.ts';
import type { Alert } from './budget-store.ts';
import type { Forecast } from './forecast.ts';
import type { Spend } from './spend-queries.ts';

const scopesMax = 50;
const thresholdsMax = 20;
/** Every one can be an event of one check, which each webhook gets. */
const eventsMax = 300;
const webhooksMax = 50;

const amountBody = z
  .string()
  .meta({ description: 'US dollars as a decimal string, more than 0, at most nine decimals', example: '100.00' })
  .transform((text, context) => {
    const nanoUsd = parseUsd(text);
    if (nanoUsd !== undefined && nanoUsd > 0n) return nanoUsd;
    const message =
      'must be more than 0 and less than 1000000000 US dollars, with at most nine decimals, such as "100.00"';
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  });

const by = z.enum(scopeKinds);

export const budgetBody = z
  .strictObject({
    amount: amountBody,
    currency: z.literal('USD'),
    period: z.enum(periods),
    timezone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a time zone of the IANA database, such as Europe/Berlin')
      .default('UTC')
      .meta({ description: 'The time zone in which periods begin', example: 'Europe/Berlin' }),
    thresholds: z
      .array(z.number().min(0.0001).max(10))
      .max(thresholdsMax)
      .default([0.5, 0.8, 1])
      .meta({
        description:
          'Ratios of the amount. Each sends one event per period, for the whole budget and for each of the scopes: at most ' +
          `${eventsMax} events of all together`,
      }),
    enforcement: z.enum(enforcements).default('none').meta({ description: '`block_render` also blocks optimization' }),
    scopes: z
      .array(z.strictObject({ by, value: z.string().min(1).max(512), amount: amountBody }))
      .max(scopesMax)
      .default([])
      .meta({ description: 'Limits for parts of the spend' }),
    notify: z
      .strictObject({ webhook_ids: z.array(z.string().max(64)).max(webhooksMax).nullish() })
      .nullish()
      .meta({ description: 'The only webhooks that get the events; default: all that want them' }),
    enabled: z.boolean().default(true),
  })
  .superRefine(({ scopes, thresholds }, context) => {
    refuseTwins(scopes.map(scopeKey), 'scopes', context);
    // The comparison with the spend does not tell closer ones apart.
    refuseTwins(
      thresholds.map((ratio) => ratio.toFixed(9)),
      'thresholds',
      context,
    );
    const events = (scopes.length + 1) * thresholds.length;
    if (events <= eventsMax) return;
    const message =
      `are too many for ${scopes.length} scopes: ${thresholds.length} thresholds for each of them and for the whole budget ` +
      `are ${events}. At most ${eventsMax} are allowed`;
    context.addIssue({ code: 'custom', path: ['thresholds'], message, params: { code: 'too_big' } });
  })
  .transform(
    ({ amount, currency: _, scopes, thresholds, notify, ...body }): BudgetInput => ({
      ...body,
      amountNanoUsd: amount,
      thresholds: thresholds.toSorted((a, b) => a - b),
      scopes: scopes.map((each) => ({ by: each.by, value: each.value, amountNanoUsd: each.amount })),
      webhookIds: notify?.webhook_ids ?? null,
    }),
  );

function refuseTwins(keys: readonly string[], path: string, context: z.RefinementCtx): void {
  for (const [index, key] of keys.entries()) {
    const first = keys.indexOf(key);
    if (first === index) continue;
    const message = `is the same as ${path}[${first}]`;
    context.addIssue({ code: 'custom', path: [path, index], message, params: { code: 'duplicate' } });
  }
}

const usd = z.string().meta({ description: 'US dollars as a decimal string', example: '12.500000' });
const time = z.iso.datetime();
const state = z.enum(['ok', 'warning', 'exceeded']);
const ratio = z.number();

export const budgetSchema = z
  .object({
    amount: usd.nullable().meta({ description: 'Null if the project has no budget' }),
    currency: z.literal('USD'),
    period: z.enum(periods),
    timezone: z.string(),
    thresholds: z.array(z.number()),
    enforcement: z.enum(enforcements),
    notify: z.object({ webhook_ids: z.array(z.string()).nullable() }),
    enabled: z.boolean(),
    version: z.int().nullable(),
    updated_at: time.nullable(),
    spend: usd.meta({ description: 'The known cost of the calls of the period, exact' }),
    reserved: usd.meta({ description: 'What running optimizations may still spend' }),
    remaining: usd.nullable().meta({ description: 'Amount minus spend and reserved, never below 0' }),
    used_ratio: ratio.nullable(),
    period_start: time.nullable().meta({ description: 'Null for a budget without periods' }),
    period_end: time.nullable(),
    resets_at: time.nullable(),
    forecast: z.object({
      period_end_spend: usd.nullable(),
      exhausts_at: time.nullable().meta({ description: 'Null if the amount lasts longer than the period' }),
      method: z.enum(['linear', 'weekly']),
    }),
    unpriced: z.object({ spans: z.int(), tokens: z.int() }).meta({ description: 'What has no known cost' }),
    scopes: z.array(z.object({ by, value: z.string(), amount: usd, spend: usd, used_ratio: ratio, state })),
    alerts: z.array(
      z.object({
        threshold: z.number(),
        scope: z.object({ by: z.string(), value: z.string() }).nullable(),
        fired_at: time,
      }),
    ),
    state,
    as_of: time,
  })
  .meta({ id: 'Budget' });

export interface BudgetReport {
  budget: Budget | undefined;
  spend: Spend;
  reserved: bigint;
  alerts: readonly Alert[];
  forecast: Forecast;
  period: Period;
  nowMs: number;
}

/** Converts a budget and its spend to their API JSON. */
export function budgetToWire(report: BudgetReport): z.infer<typeof budgetSchema> {
  const { budget, spend, reserved, alerts, forecast, period, nowMs } = report;
  const amount = budget?.amountNanoUsd;
  const left = amount === undefined ? null : amount - spend.total - reserved;
  const thresholds = budget?.thresholds ?? [];
  return {
    amount: amount === undefined ? null : formatUsd(amount),
    currency: 'USD',
    period: budget?.period ?? 'monthly',
    timezone: budget?.timezone ?? 'UTC',
    thresholds: [...thresholds],
    enforcement: budget?.enforcement ?? 'none',
    notify: { webhook_ids: budget?.webhookIds ? [...budget.webhookIds] : null },
    enabled: budget?.enabled ?? false,
    version: budget?.version ?? null,
    updated_at: budget?.updatedAt.toISOString() ?? null,
    spend: formatUsd(spend.total),
    reserved: formatUsd(reserved),
    remaining: left === null ? null : formatUsd(left > 0n ? left : 0n),
    used_ratio: amount === undefined ? null : usedRatio(spend.total, amount),
    period_start: iso(period.startMs),
    period_end: iso(period.endMs),
    resets_at: iso(period.endMs),
    forecast: {
      period_end_spend: forecast.periodEndSpend === null ? null : formatUsd(forecast.periodEndSpend),
      exhausts_at: iso(forecast.exhaustsAtMs),
      method: forecast.method,
    },
    unpriced: { spans: spend.unpricedSpans, tokens: spend.unpricedTokens },
    scopes: (budget?.scopes ?? []).map(({ by: kind, value, amountNanoUsd }, index) => {
      const spent = spend.scopes[index] ?? 0n;
      return {
        ...{ by: kind, value, amount: formatUsd(amountNanoUsd), spend: formatUsd(spent) },
        used_ratio: usedRatio(spent, amountNanoUsd),
        state: stateOf(spent, amountNanoUsd, thresholds),
      };
    }),
    alerts: alerts.map(({ threshold, scope, firedAt }) => ({
      ...{ threshold, scope: scopeToWire(scope), fired_at: firedAt.toISOString() },
    })),
    state: amount === undefined ? 'ok' : stateOf(spend.total, amount, thresholds),
    as_of: new Date(nowMs).toISOString(),
  };
}

/** Returns the ratio as a number. A ratio that rounds to 1 is not below it. */
const usedRatio = (spend: bigint, amount: bigint) =>
  Math.max(Number(spend) / Number(amount), hasReached(spend, amount, 1) ? 1 : 0);

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function scopeToWire(key: string): { by: string; value: string } | null {
  const at = key.indexOf(':');
  return at < 0 ? null : { by: key.slice(0, at), value: key.slice(at + 1) };
}
