import {
  type PlanLimits,
  type QuotaName,
  type RateLimitName,
  rateLimitNames,
  type WorkspaceScope,
} from '../workspaces/index.ts';
import type { QuotaDraw, RateDraw } from './draw.ts';
import { usageEntry } from './usage.ts';

export const rateWindowMs = 60_000;

/** The draws for what is limited of `costs`; none for a workspace without limits. */
export function rateDraws(
  workspace: WorkspaceScope,
  limits: PlanLimits,
  costs: Readonly<Partial<Record<RateLimitName, number>>>,
): RateDraw[] {
  return rateLimitNames.flatMap((name): RateDraw[] => {
    const cost = costs[name];
    const limit = limits.rateLimits[name];
    if (cost === undefined || limit === null) return [];
    return [{ kind: 'rate', name, key: `${workspace.id}:rate:${name}`, cost, limit, windowMs: rateWindowMs }];
  });
}

/** The draw on a monthly quota for something received then; none where it is unlimited. */
export function quotaDraws(
  workspace: WorkspaceScope,
  limits: PlanLimits,
  { quota, cost, receivedAtMs }: { quota: QuotaName; cost: number; receivedAtMs: number },
): QuotaDraw[] {
  const limit = limits.quotas[quota];
  if (limit === null) return [];
  return [{ kind: 'quota', name: quota, cost, limit, ...usageEntry(workspace.id, quota, receivedAtMs) }];
}
