import { limitsOf, type QuotaName, type WorkspaceScope } from '../workspaces/index.ts';
import { refusedDraw } from './draw.ts';
import type { Limiter } from './limiter.ts';
import { refusalError } from './refusals.ts';
import { usageEntry } from './usage.ts';

/**
 * Takes `units` of a workspace's monthly quota or none of it, exactly, whoever else does meanwhile; without a limit it is counted
 * all the same. Throws ExhaustedError, and UnavailableError while Redis is away.
 */
export async function consumeQuota(
  { limiter }: { limiter: Limiter },
  workspace: WorkspaceScope,
  { quota, units, atMs }: { quota: QuotaName; units: number; atMs: number },
): Promise<void> {
  const limit = limitsOf(workspace).quotas[quota] ?? Number.MAX_SAFE_INTEGER;
  const entry = usageEntry(workspace.id, quota, atMs);
  const outcome = await limiter.draw([{ kind: 'quota', name: quota, cost: units, limit, ...entry }]);
  const refused = refusedDraw(outcome);
  if (refused !== undefined) throw refusalError(refused);
}
