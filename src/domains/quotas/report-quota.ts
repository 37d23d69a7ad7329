import { UnavailableError } from '../../lib/errors.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { usageKey } from '../../stores/redis/names.ts';
import {
  limitsOf,
  type PlanLimits,
  type QuotaName,
  quotaNames,
  rateLimitNames,
  type WorkspaceScope,
} from '../workspaces/index.ts';
import { checkInRedis } from './check-in-redis.ts';
import { rateChecks } from './checks-of.ts';
import { type Month, monthOf } from './usage.ts';

export interface QuotaUse {
  quota: QuotaName;
  /** Null is unlimited. */
  limit: number | null;
  used: number;
  /** Expected use of the whole month at the pace so far. */
  projected: number;
}

export interface QuotaReport {
  workspace: WorkspaceScope;
  limits: PlanLimits;
  month: Month;
  quotas: QuotaUse[];
  /** Units left of each limited rate, by its name. */
  ratesLeft: ReadonlyMap<string, number>;
}

/** The pace is calculated over at least one day, because the first hours of a month say little. */
const paceMsMin = 86_400_000;

/**
 * Reports what a workspace may use and has used. Checks nothing.
 * @throws UnavailableError when Redis is unavailable
 */
export async function reportQuota(
  { redis }: { redis: Redis },
  workspace: WorkspaceScope,
  nowMs: number,
): Promise<QuotaReport> {
  const limits = limitsOf(workspace);
  const month = monthOf(nowMs);
  const checks = rateChecks(workspace, limits, Object.fromEntries(rateLimitNames.map((name) => [name, 0])));
  try {
    const [rates, used] = await Promise.all([
      Promise.all(checks.map((check) => checkInRedis(redis, [check]))),
      Promise.all(quotaNames.map((quota) => redis.hget(usageKey(workspace.id, quota, month), 'total'))),
    ]);
    const results = rates.flatMap((outcome) => outcome.results);
    return {
      workspace,
      limits,
      month,
      quotas: quotaNames.map((quota, index) => {
        const count = Math.max(0, Number(used[index] ?? 0));
        return { quota, limit: limits.quotas[quota], used: count, projected: project(count, month, nowMs) };
      }),
      ratesLeft: new Map(results.map(({ check, remaining }) => [check.name, Math.max(0, remaining)])),
    };
  } catch (error) {
    throw new UnavailableError('dependency_unavailable', 'Usage cannot be read at the moment.', { cause: error });
  }
}

function project(used: number, month: Month, nowMs: number): number {
  const passedMs = Math.max(nowMs - month.startMs, paceMsMin);
  return Math.round(used * Math.max(1, (month.endMs - month.startMs) / passedMs));
}
