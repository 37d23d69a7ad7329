import { limitsOf, type QuotaName, type WorkspaceScope } from '../workspaces/index.ts';
import { type QuotaCheck, refusedCheck } from './limit-check.ts';
import type { Limiter } from './limiter.ts';
import { refusalError } from './refusals.ts';
import { usageEntry } from './usage.ts';

/** Units of a monthly quota. */
export interface QuotaUse {
  quota: QuotaName;
  units: number;
  atMs: number;
}

/**
 * Takes `units` of a workspace's monthly quota, or nothing if they do not fit. The check is atomic,
 * so concurrent calls cannot exceed the limit. Use without a limit is counted too.
 * @throws ExhaustedError when the quota does not suffice
 * @throws UnavailableError when Redis is unavailable
 */
export async function consumeQuota(
  { limiter }: { limiter: Limiter },
  workspace: WorkspaceScope,
  use: QuotaUse,
): Promise<void> {
  const outcome = await limiter.check([checkOf(workspace, use)]);
  const refused = refusedCheck(outcome);
  if (refused !== undefined) throw refusalError(refused);
}

/**
 * Counts units that are used already, also beyond the limit.
 * @throws UnavailableError when Redis is unavailable
 */
export async function countUse(
  { limiter }: { limiter: Limiter },
  workspace: WorkspaceScope,
  use: QuotaUse,
): Promise<void> {
  await limiter.check([{ ...checkOf(workspace, use), limit: Number.MAX_SAFE_INTEGER }]);
}

/**
 * Refuses what {@link consumeQuota} would refuse now, and takes nothing. For work that comes before it.
 * @throws ExhaustedError, UnavailableError as {@link consumeQuota}
 */
export async function requireQuota(
  { limiter }: { limiter: Limiter },
  workspace: WorkspaceScope,
  use: QuotaUse,
): Promise<void> {
  const check = checkOf(workspace, use);
  // A check without a cost is always granted.
  const { results } = await limiter.check([{ ...check, cost: 0 }]);
  const refused = results.find(({ remaining }) => remaining < check.cost);
  if (refused !== undefined) throw refusalError({ ...refused, check });
}

function checkOf(workspace: WorkspaceScope, { quota, units, atMs }: QuotaUse): QuotaCheck {
  const limit = limitsOf(workspace).quotas[quota] ?? Number.MAX_SAFE_INTEGER;
  return { kind: 'quota', name: quota, cost: units, limit, ...usageEntry(workspace.id, quota, atMs) };
}
