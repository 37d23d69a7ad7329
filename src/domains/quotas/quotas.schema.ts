import { z } from 'zod';
import { quotaNames, type RateLimitName, rateLimitNames } from '../workspaces/index.ts';
import { rateWindowMs } from './checks-of.ts';
import type { QuotaReport, QuotaUse } from './report-quota.ts';
import { quotaUnits } from './usage.ts';

const limit = z.int().nullable().meta({ description: 'Null means unlimited' });

export const quotaSchema = z
  .object({
    workspace_id: z.string(),
    plan: z.string(),
    period: z.object({ start: z.iso.datetime(), end: z.iso.datetime(), resets_at: z.iso.datetime() }),
    limits: z.array(
      z.object({
        resource: z.enum(quotaNames),
        unit: z.enum(quotaUnits),
        limit,
        used: z.int(),
        remaining: limit,
        used_ratio: z.number(),
        hard: z.boolean().meta({ description: 'Whether requests over the limit are refused with 402' }),
        projected: z
          .int()
          .meta({ description: 'Expected use in the whole period, if use continues at the present rate' }),
      }),
    ),
    rate_limits: z.array(
      z.object({
        class: z.enum(['ingest', 'read', 'write', 'render', 'analytics']),
        unit: z.enum(['request', 'byte', 'span']),
        limit,
        window_s: z.int(),
        remaining: limit,
      }),
    ),
    retention_days: z
      .int()
      .nullable()
      .meta({ description: 'Days that spans received now are kept; null means without limit' }),
    features: z.record(z.string(), z.boolean()).meta({ description: 'Features that the plan enables or disables' }),
  })
  .meta({ id: 'Quota' });

export type QuotaWire = z.infer<typeof quotaSchema>;

const rateWire = {
  ingest: { class: 'ingest', unit: 'request' },
  ingest_bytes: { class: 'ingest', unit: 'byte' },
  ingest_spans: { class: 'ingest', unit: 'span' },
  read: { class: 'read', unit: 'request' },
  write: { class: 'write', unit: 'request' },
  render: { class: 'render', unit: 'request' },
  analytics: { class: 'analytics', unit: 'request' },
} as const satisfies Record<RateLimitName, Pick<QuotaWire['rate_limits'][number], 'class' | 'unit'>>;

/** Converts a quota report to its API form. */
export function quotaToWire({ workspace, limits, month, quotas, ratesLeft }: QuotaReport): QuotaWire {
  const end = new Date(month.endMs).toISOString();
  return {
    workspace_id: workspace.id,
    plan: workspace.plan,
    period: { start: new Date(month.startMs).toISOString(), end, resets_at: end },
    limits: quotas.map(useToWire),
    rate_limits: rateLimitNames.map((name) => ({
      ...rateWire[name],
      limit: limits.rateLimits[name],
      window_s: rateWindowMs / 1_000,
      remaining: ratesLeft.get(name) ?? null,
    })),
    retention_days: limits.retentionDays === 0 ? null : limits.retentionDays,
    features: {},
  };
}

function useToWire({ quota, limit, used, projected }: QuotaUse): QuotaWire['limits'][number] {
  return {
    resource: quota,
    unit: quotaUnits[quota],
    limit,
    used,
    remaining: limit === null ? null : Math.max(0, limit - used),
    used_ratio: usedRatio(used, limit),
    hard: true,
    projected,
  };
}

/** Returns the used share of a limit. A limit of 0 counts as fully used. */
function usedRatio(used: number, limit: number | null): number {
  if (limit === null) return 0;
  return limit === 0 ? 1 : Math.round((used / limit) * 10_000) / 10_000;
}
