import type { WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { UserId } from '../workspaces/index.ts';
import {
  findMembershipsToSettle,
  isWorkspaceDeleted,
  type StoredMembership,
  saveSettled,
} from './identity-membership-store.ts';
import { type SettledMembership, settleMemberships } from './settle-memberships.ts';

/** The transaction of one event, and what its audit entries say of where they come from. */
export interface EventContext {
  transaction: Postgres;
  actor: AuditActor;
  eventId: string;
}

/**
 * Puts in force what is known of a workspace's members after something became known of `userIds`, and writes down every change. The
 * workspace is locked. Returns the users whose membership changed.
 */
export async function settleWorkspace(
  context: EventContext,
  { workspaceId, userIds, news }: { workspaceId: WorkspaceId; userIds: readonly UserId[]; news: boolean },
): Promise<UserId[]> {
  const { transaction } = context;
  const stored = await findMembershipsToSettle(transaction, workspaceId, userIds);
  const settled = settleMemberships(stored, { deleted: await isWorkspaceDeleted(transaction, workspaceId) });
  const changed: UserId[] = [];
  for (const [index, before] of stored.entries()) {
    const after = settled[index];
    if (after === undefined) continue;
    const action = whatHappened(before, after);
    if (action !== undefined || before.removed) await saveSettled(transaction, workspaceId, after);
    if (action !== undefined) {
      changed.push(before.userId);
      await audit(context, workspaceId, action, before, after);
    }
    if (after.keptAsLastOwner && (action !== undefined || (news && userIds.includes(before.userId)))) {
      await audit(context, workspaceId, 'last_owner_kept', before, after);
    }
  }
  return changed;
}

function whatHappened(before: StoredMembership, after: SettledMembership): string | undefined {
  const removed = after.removedAtMs !== undefined;
  if (before.removed !== removed) return removed ? 'membership.removed' : 'membership.added';
  return removed || before.role === after.role ? undefined : 'membership.role_changed';
}

async function audit(
  { transaction, actor, eventId }: EventContext,
  workspaceId: WorkspaceId,
  action: string,
  before: StoredMembership,
  after: SettledMembership,
): Promise<void> {
  const roleBefore = before.removed ? null : before.role;
  const details = { role: after.role, role_before: roleBefore, provider_role: before.sourceRole, event_id: eventId };
  await recordAudit(transaction, {
    workspaceId,
    actor,
    action,
    targetType: 'user',
    targetId: before.userId,
    details,
  });
}
