import type { PlanOverrides } from './plan-overrides.ts';

/**
 * Limits per minute: requests of each class, and for ingestion also the received bytes and the
 * spans.
 */
export const rateLimitNames = [
  'ingest',
  'ingest_bytes',
  'ingest_spans',
  'read',
  'write',
  'render',
  'analytics',
] as const;
export type RateLimitName = (typeof rateLimitNames)[number];

/** Limits per calendar month (UTC). */
export const quotaNames = ['spans', 'optimization_runs', 'ingested_bytes', 'written_bytes'] as const;
export type QuotaName = (typeof quotaNames)[number];

/** Null is unlimited. Retention is in days from the time of receipt; 0 keeps spans forever. */
export interface PlanLimits {
  rateLimits: Readonly<Record<RateLimitName, number | null>>;
  quotas: Readonly<Record<QuotaName, number | null>>;
  retentionDays: number;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/**
 * All plans, from lowest to highest. On `free` the spans per minute allow two requests of the
 * maximum size (10,000 spans). In every plan it takes at least a few minutes to use up a month. The bytes of a month
 * bound what a workspace may store. Those of bodies allow 100 to 200 KiB for each span; those of other writes are kept
 * in Postgres, where prompts never expire.
 */
export const plans = {
  free: {
    rateLimits: {
      ingest: 1_000,
      ingest_bytes: 64 * mebibyte,
      ingest_spans: 20_000,
      read: 300,
      write: 120,
      render: 6_000,
      analytics: 60,
    },
    quotas: { spans: 50_000, optimization_runs: 20, ingested_bytes: 10 * gibibyte, written_bytes: gibibyte },
    retentionDays: 30,
  },
  pro: {
    rateLimits: {
      ingest: 5_000,
      ingest_bytes: 512 * mebibyte,
      ingest_spans: 200_000,
      read: 1_000,
      write: 500,
      render: 30_000,
      analytics: 300,
    },
    quotas: { spans: 1_000_000, optimization_runs: 500, ingested_bytes: 100 * gibibyte, written_bytes: 10 * gibibyte },
    retentionDays: 90,
  },
  team: {
    rateLimits: {
      ingest: 20_000,
      ingest_bytes: 2_048 * mebibyte,
      ingest_spans: 1_000_000,
      read: 3_000,
      write: 1_500,
      render: 120_000,
      analytics: 1_000,
    },
    quotas: {
      spans: 10_000_000,
      optimization_runs: 5_000,
      ingested_bytes: 1_024 * gibibyte,
      written_bytes: 100 * gibibyte,
    },
    retentionDays: 365,
  },
  enterprise: {
    rateLimits: {
      ingest: null,
      ingest_bytes: null,
      ingest_spans: null,
      read: null,
      write: null,
      render: null,
      analytics: null,
    },
    quotas: { spans: null, optimization_runs: null, ingested_bytes: null, written_bytes: null },
    retentionDays: 0,
  },
} as const satisfies Record<string, PlanLimits>;

export type PlanName = keyof typeof plans;

/** Returns whether a plan is above another one. Plans are listed from lowest to highest. */
export function isAbove(plan: PlanName, other: PlanName): boolean {
  const names = Object.keys(plans);
  return names.indexOf(plan) > names.indexOf(other);
}

/**
 * Checks a stored plan name.
 * @throws Error when the database holds a plan that this version does not know
 */
export function planNamed(name: string): PlanName {
  if (!Object.hasOwn(plans, name)) throw new Error(`Unknown plan ${JSON.stringify(name)} in the workspaces table`);
  return name as PlanName;
}

/** Returns the limits of a workspace: its plan with the operator's overrides. */
export function limitsOf(workspace: { plan: PlanName; overrides: PlanOverrides }): PlanLimits {
  const plan: PlanLimits = plans[workspace.plan];
  const { rate_limits: rates, quotas, retention_days: retentionDays } = workspace.overrides;
  if (rates === undefined && quotas === undefined && retentionDays === undefined) return plan;
  return {
    rateLimits: withOverrides(plan.rateLimits, rates),
    quotas: withOverrides(plan.quotas, quotas),
    retentionDays: retentionDays ?? plan.retentionDays,
  };
}

/** Applies overrides. Null means unlimited; a missing override keeps the limit of the plan. */
function withOverrides<Name extends string>(
  limits: Readonly<Record<Name, number | null>>,
  overrides: Readonly<Partial<Record<Name, number | null | undefined>>> | undefined,
): Record<Name, number | null> {
  const merged: Record<Name, number | null> = { ...limits };
  for (const name of Object.keys(limits) as Name[]) {
    const override = overrides?.[name];
    if (override !== undefined) merged[name] = override;
  }
  return merged;
}
