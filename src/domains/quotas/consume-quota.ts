import { limitsOf, type QuotaName, type WorkspaceScope } from '../workspaces/index.ts';
import { refusedCheck } from './limit-check.ts';
import type { Limiter } from './limiter.ts';
import { refusalError } from './refusals.ts';
import { usageEntry } from './usage.ts';

/**
 * Takes `units` of a workspace's monthly quota, or nothing if they do not fit. The check is atomic,
 * so concurrent calls cannot exceed the limit. Use without a limit is counted too.
 * @throws ExhaustedError when the quota does not suffice
 * @throws UnavailableError when Redis is unavailable
 */
export async function consumeQuota(
  { limiter }: { limiter: Limiter },
  workspace: WorkspaceScope,
  { quota, units, atMs }: { quota: QuotaName; units: number; atMs: number },
): Promise<void> {
  const limit = limitsOf(workspace).quotas[quota] ?? Number.MAX_SAFE_INTEGER;
  const entry = usageEntry(workspace.id, quota, atMs);
  const outcome = await limiter.check([{ kind: 'quota', name: quota, cost: units, limit, ...entry }]);
  const refused = refusedCheck(outcome);
  if (refused !== undefined) throw refusalError(refused);
}
