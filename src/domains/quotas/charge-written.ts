import { UnavailableError } from '../../lib/errors.ts';
import type { WorkspaceScope } from '../workspaces/index.ts';
import { consumeQuota } from './consume-quota.ts';
import type { Limiter } from './limiter.ts';

/**
 * Counts the body of a write for the month, also if its handler refuses it; nothing for the operator, who has no limits. While Redis is unavailable, nothing is
 * counted: a write to Postgres does not need Redis, and the rates of the process apply.
 * @throws ExhaustedError `quota_exceeded` when the written bytes are used up
 */
export async function chargeWritten(
  deps: { limiter: Limiter },
  workspace: WorkspaceScope | undefined,
  bytes: number,
): Promise<void> {
  if (workspace === undefined) return;
  try {
    await consumeQuota(deps, workspace, { quota: 'written_bytes', units: bytes, atMs: Date.now() });
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
  }
}
