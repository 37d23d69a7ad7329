import { z } from 'zod';

/** Null is unlimited. */
const limit = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullable().optional();

/** Days; ClickHouse counts the end of a span's life as a DateTime, which ends in 2106. Who wants more keeps for ever (0). */
export const retentionDaysMax = 28_000;

/** What an operator changed from a workspace's plan. Rates per minute, quotas per month; retention 0 keeps for ever. */
export const planOverridesSchema = z.strictObject({
  rate_limits: z
    .strictObject({
      ingest: limit,
      ingest_bytes: limit,
      ingest_spans: limit,
      read: limit,
      write: limit,
      render: limit,
      analytics: limit,
    })
    .optional(),
  quotas: z.strictObject({ spans: limit, optimization_runs: limit }).optional(),
  retention_days: z.int().min(0).max(retentionDaysMax).optional(),
});

export type PlanOverrides = z.infer<typeof planOverridesSchema>;

/** As stored: an earlier version allowed a longer retention, which was meant as for ever. */
const storedOverridesSchema = planOverridesSchema.extend({
  retention_days: z
    .int()
    .min(0)
    .transform((days) => (days > retentionDaysMax ? 0 : days))
    .optional(),
});

/** Narrows what is stored. Throws when the database holds overrides this version does not know. */
export function planOverridesFrom(stored: unknown): PlanOverrides {
  return storedOverridesSchema.parse(stored);
}
