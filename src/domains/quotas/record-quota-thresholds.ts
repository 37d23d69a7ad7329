import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys, usageKey } from '../../stores/redis/names.ts';
import { findWorkspaces, limitsOf, type QuotaName, quotaNames, type WorkspaceScope } from '../workspaces/index.ts';
import { insertQuotaAlert } from './metered-workspace-store.ts';
import { type Month, quotaUnits } from './usage.ts';

export const quotaThresholds = [0.8, 1] as const;

/** Returns the field of the counter of a threshold. */
export function thresholdField(resource: QuotaName, threshold: number): string {
  return `reached:${resource}:${threshold}`;
}

/** What happened, as webhooks send it. */
export interface QuotaThreshold {
  workspace_id: string;
  resource: string;
  unit: string;
  threshold: number;
  limit: number;
  used: number;
  period_start: string;
  resets_at: string;
}

export interface QuotaThresholdDeps {
  redis: Redis;
  postgres: Postgres;
  /** Records the event in the transaction that stores that the threshold was reached. */
  quotaReached: (transaction: Postgres, reached: QuotaThreshold) => Promise<unknown>;
}

/**
 * Records an event for each threshold of a monthly quota that a workspace has reached, once per month.
 * @throws UnavailableError while a store is unavailable
 */
export async function recordQuotaThresholds(
  { redis, postgres, quotaReached }: QuotaThresholdDeps,
  workspaceIds: readonly string[],
  month: Month,
): Promise<void> {
  for (const workspace of await findWorkspaces(postgres, workspaceIds)) {
    const { quotas } = limitsOf(workspace);
    for (const resource of quotaNames) {
      const limit = quotas[resource];
      if (limit === null) continue;
      const used = Number((await redis.hget(usageKey(workspace.id, resource, month), 'total')) ?? 0);
      for (const threshold of quotaThresholds) {
        if (used === 0 || used < threshold * limit) continue;
        const isNew = await record({ postgres, quotaReached }, { workspace, resource, threshold, limit, used, month });
        if (isNew) await redis.hincrby(countsKeys.quotas, thresholdField(resource, threshold), 1);
      }
    }
  }
}

interface Reached {
  workspace: WorkspaceScope;
  resource: QuotaName;
  threshold: number;
  limit: number;
  used: number;
  month: Month;
}

/** Returns false if it was recorded before. */
function record(
  { postgres, quotaReached }: Omit<QuotaThresholdDeps, 'redis'>,
  { workspace, month, ...reached }: Reached,
): Promise<boolean> {
  const { resource, threshold } = reached;
  return inTransaction(postgres, async (transaction) => {
    const periodStart = new Date(month.startMs);
    const isNew = await insertQuotaAlert(transaction, { workspaceId: workspace.id, resource, periodStart, threshold });
    if (!isNew) return false;
    await quotaReached(transaction, {
      workspace_id: workspace.id,
      unit: quotaUnits[resource],
      ...reached,
      period_start: periodStart.toISOString(),
      resets_at: new Date(month.endMs).toISOString(),
    });
    return true;
  });
}
