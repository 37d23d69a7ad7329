import { z } from 'zod';

/** Null is unlimited. */
const limit = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullable().optional();

/**
 * Days. ClickHouse stores the expiry of a span as DateTime, which ends in 2106. For a longer
 * retention use 0, which keeps spans forever.
 */
export const retentionDaysMax = 28_000;

/**
 * The operator's changes to the plan of a workspace. Rates are per minute, quotas per month;
 * retention 0 keeps spans forever.
 */
export const planOverridesSchema = z
  .strictObject({
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
    quotas: z
      .strictObject({ spans: limit, optimization_runs: limit, ingested_bytes: limit, written_bytes: limit })
      .optional(),
    retention_days: z.int().min(0).max(retentionDaysMax).optional(),
  })
  .meta({ id: 'PlanOverrides' });

export type PlanOverrides = z.infer<typeof planOverridesSchema>;

/** The stored form. An earlier version allowed a longer retention, which is read as forever. */
const storedOverridesSchema = planOverridesSchema.extend({
  retention_days: z
    .int()
    .min(0)
    .transform((days) => (days > retentionDaysMax ? 0 : days))
    .optional(),
});

/**
 * Parses stored overrides.
 * @throws ZodError when the database holds overrides that this version does not know
 */
export function planOverridesFrom(stored: unknown): PlanOverrides {
  return storedOverridesSchema.parse(stored);
}
