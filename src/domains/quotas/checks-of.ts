import { rateKey } from '../../stores/redis/names.ts';
import {
  type PlanLimits,
  type QuotaName,
  type RateLimitName,
  rateLimitNames,
  type WorkspaceScope,
} from '../workspaces/index.ts';
import type { QuotaCheck, RateCheck } from './limit-check.ts';
import { usageEntry } from './usage.ts';

export const rateWindowMs = 60_000;

/** Returns the checks for those of `costs` that are limited; none for a workspace without limits. */
export function rateChecks(
  workspace: WorkspaceScope,
  limits: PlanLimits,
  costs: Readonly<Partial<Record<RateLimitName, number>>>,
): RateCheck[] {
  return rateLimitNames.flatMap((name): RateCheck[] => {
    const cost = costs[name];
    const limit = limits.rateLimits[name];
    if (cost === undefined || limit === null) return [];
    return [{ kind: 'rate', name, key: rateKey(workspace.id, name), cost, limit, windowMs: rateWindowMs }];
  });
}

/** Returns the check on the monthly quota of the receipt time; none if the quota is unlimited. */
export function quotaChecks(
  workspace: WorkspaceScope,
  limits: PlanLimits,
  { quota, cost, receivedAtMs }: { quota: QuotaName; cost: number; receivedAtMs: number },
): QuotaCheck[] {
  const limit = limits.quotas[quota];
  if (limit === null) return [];
  return [{ kind: 'quota', name: quota, cost, limit, ...usageEntry(workspace.id, quota, receivedAtMs) }];
}
