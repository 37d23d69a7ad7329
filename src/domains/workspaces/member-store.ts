import type { Knex } from 'knex';
import type { UserId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Member, Role } from './workspace.ts';

interface Row {
  user_id: UserId;
  email: string | null;
  name: string | null;
  role: Role;
  created_at: Date;
}

/**
 * Lists at most `limit` members of a workspace, by user id, after the given one. Deleted users are
 * excluded.
 */
export async function listMembers(
  postgres: Postgres,
  query: { workspaceId: string; afterId?: string | undefined; limit: number },
): Promise<Member[]> {
  const select = selectMembers(postgres, query.workspaceId);
  if (query.afterId !== undefined) select.where('memberships.user_id', '>', query.afterId);
  const rows = await select.orderBy('memberships.user_id').limit(query.limit);
  return rows.map(toMember);
}

/** Finds a current member of the workspace. Deleted users are excluded. */
export async function findMember(
  transaction: Postgres,
  workspaceId: string,
  userId: string,
): Promise<Member | undefined> {
  const [row] = await selectMembers(transaction, workspaceId).where('memberships.user_id', userId);
  return row && toMember(row);
}

/** Returns whether another user owns the workspace too. */
export async function hasOtherOwner(transaction: Postgres, workspaceId: string, userId: string): Promise<boolean> {
  const [row] = await selectMembers(transaction, workspaceId)
    .where('memberships.role', 'owner')
    .whereNot('memberships.user_id', userId)
    .limit(1);
  return row !== undefined;
}

/**
 * Sets the role of a member. This replaces older statements of the identity provider about the role. Returns false, and
 * changes nothing, if the latest statement already gives this role.
 */
export async function setRole(
  transaction: Postgres,
  workspaceId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const changed = await transaction('memberships')
    .where({ workspace_id: workspaceId, user_id: userId })
    .where((differs) => differs.whereNot({ role }).orWhereNot({ source_role: role }).orWhere({ source_removed: true }))
    .update({
      ...lastWord(transaction, { role, removed: false }),
      role,
      ...(role === 'owner' ? { strongest_role: role } : {}),
    });
  return changed > 0;
}

/**
 * Marks a member as removed. The row stays, so that an older statement of the identity provider
 * cannot restore the member. Returns whether there was such a member.
 */
export async function markRemoved(transaction: Postgres, workspaceId: string, userId: string): Promise<boolean> {
  const changed = await transaction('memberships')
    .where({ workspace_id: workspaceId, user_id: userId })
    .update({
      ...lastWord(transaction, { role: transaction.ref('role'), removed: true }),
      removed_at: transaction.fn.now(),
    });
  return changed > 0;
}

/**
 * Returns the columns that mark this change as the latest statement. A later one of the identity
 * provider replaces it.
 */
function lastWord(
  transaction: Postgres,
  { role, removed }: { role: Role | Knex.Ref<string, object>; removed: boolean },
) {
  return {
    source_role: role,
    source_removed: removed,
    source_is_member: true,
    source_updated_at: transaction.fn.now(),
  };
}

function selectMembers(postgres: Postgres, workspaceId: string) {
  return postgres('memberships')
    .join('users', 'users.id', 'memberships.user_id')
    .where('memberships.workspace_id', workspaceId)
    .whereNull('memberships.removed_at')
    .whereNull('users.deleted_at')
    .select<Row[]>('memberships.user_id', 'users.email', 'users.name', 'memberships.role', 'memberships.created_at');
}

function toMember({ user_id: userId, email, name, role, created_at: since }: Row): Member {
  return { userId, email, name, role, since };
}
