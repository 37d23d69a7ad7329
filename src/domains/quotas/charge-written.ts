import { UnavailableError } from '../../lib/errors.ts';
import type { WorkspaceScope } from '../workspaces/index.ts';
import { consumeQuota, countUse } from './consume-quota.ts';
import type { Limiter } from './limiter.ts';

/**
 * Counts the body of a write for the month, also if its handler refuses it; nothing for the operator, who has no limits.
 * While Redis is unavailable, nothing is counted: a write to Postgres does not need Redis, and the rates of the process
 * apply.
 * @throws ExhaustedError `quota_exceeded` when the written bytes are used up
 */
export async function chargeWritten(
  deps: { limiter: Limiter },
  workspace: WorkspaceScope | undefined,
  bytes: number,
): Promise<void> {
  if (workspace !== undefined && bytes > 0) await unlessAway(consumeQuota(deps, workspace, use(bytes)));
}

/**
 * Counts the answer of a write that has succeeded, without a limit. A small body can store much: a rollback stores a copy
 * of a version, which its answer shows, and the answer itself is stored for an `Idempotency-Key`.
 */
export async function noteWritten(deps: { limiter: Limiter }, workspace: WorkspaceScope, bytes: number): Promise<void> {
  if (bytes > 0) await unlessAway(countUse(deps, workspace, use(bytes)));
}

function use(bytes: number) {
  return { quota: 'written_bytes', units: bytes, atMs: Date.now() } as const;
}

async function unlessAway(counting: Promise<void>): Promise<void> {
  try {
    await counting;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
  }
}
