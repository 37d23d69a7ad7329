import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import {
  findMembershipsToResolve,
  isWorkspaceDeleted,
  type StoredMembership,
  saveResolved,
} from './identity-membership-store.ts';
import { type ResolvedMembership, resolveMemberships } from './resolve-memberships.ts';

/** The transaction of one event, and the origin that its audit entries name. */
export interface EventContext {
  transaction: Postgres;
  actor: AuditActor;
  eventId: string;
}

/**
 * Resolves the members of a workspace after a change of `userIds`, and audits every effect. The
 * caller holds the lock of the workspace.
 */
export async function applyMemberships(
  context: EventContext,
  { workspaceId, userIds, news }: { workspaceId: WorkspaceId; userIds: readonly UserId[]; news: boolean },
): Promise<void> {
  const { transaction } = context;
  const stored = await findMembershipsToResolve(transaction, workspaceId, userIds);
  const resolved = resolveMemberships(stored, { deleted: await isWorkspaceDeleted(transaction, workspaceId) });
  for (const [index, before] of stored.entries()) {
    const after = resolved[index];
    if (after === undefined) continue;
    const action = whatHappened(before, after);
    if (action !== undefined || before.removed) await saveResolved(transaction, workspaceId, after);
    if (action !== undefined) await audit(context, workspaceId, action, before, after);
    if (after.keptAsLastOwner && (action !== undefined || (news && userIds.includes(before.userId)))) {
      await audit(context, workspaceId, 'member.last_owner_kept', before, after);
    }
  }
}

function whatHappened(before: StoredMembership, after: ResolvedMembership): string | undefined {
  const removed = after.removedAtMs !== undefined;
  if (before.removed !== removed) return removed ? 'member.removed' : 'member.added';
  return removed || before.role === after.role ? undefined : 'member.role_changed';
}

async function audit(
  { transaction, actor, eventId }: EventContext,
  workspaceId: WorkspaceId,
  action: string,
  before: StoredMembership,
  after: ResolvedMembership,
): Promise<void> {
  const details = {
    before: before.removed ? null : before.role,
    after: after.removedAtMs === undefined ? after.role : null,
    event_id: eventId,
  };
  await recordAudit(transaction, {
    workspaceId,
    actor,
    action,
    targetType: 'user',
    targetId: before.userId,
    details,
  });
}
