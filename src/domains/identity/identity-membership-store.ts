import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Role } from '../workspaces/index.ts';
import type { KnownMembership, ResolvedMembership } from './resolve-memberships.ts';

/** A membership: what is known and what applies. */
export interface StoredMembership extends KnownMembership {
  role: Role;
  removed: boolean;
}

interface Row {
  user_id: UserId;
  subject: string;
  role: Role;
  removed: boolean;
  source_role: Role;
  source_removed: boolean;
  changed_at: Date;
  strongest_role: Role;
  is_creator: boolean;
  user_deleted_at: Date | null;
}

/** Roles from strongest to weakest. Of two statements with the same time, the one with the weaker role applies. */
const strongestFirst = `array['owner', 'admin', 'member', 'viewer']`;

/**
 * Stores what a provider says about a membership. The caller holds the lock of the workspace;
 * settling decides what applies. Returns whether the statement was newer. An older statement
 * can only raise the strongest role.
 *
 * A removal may be older than a role that was given here, because this role does not say that the user is still in the
 * organization. It must only be newer than what the provider said before.
 */
export async function putSourceMembership(
  transaction: Postgres,
  key: { workspaceId: WorkspaceId; userId: UserId },
  said: { role: Role; removed: boolean; at: string },
): Promise<boolean> {
  await transaction('memberships')
    .insert({ workspace_id: key.workspaceId, user_id: key.userId, role: 'viewer', removed_at: transaction.fn.now() })
    .onConflict(['workspace_id', 'user_id'])
    .ignore();
  const result = await transaction.raw<{ rowCount: number }>(
    `update memberships set source_role = :role, source_removed = :removed, source_updated_at = cast(:at as timestamptz),
       source_is_member = false
     where workspace_id = :workspaceId and user_id = :userId
       and ((coalesce(source_updated_at, '-infinity'), coalesce(source_removed, false),
             coalesce(array_position(${strongestFirst}, source_role), 0))
           < (cast(:at as timestamptz), :removed, array_position(${strongestFirst}, :role))
         or (:removed and source_is_member and not source_removed
             and coalesce(provider_updated_at, '-infinity') < cast(:at as timestamptz)))`,
    { ...key, ...said },
  );
  await transaction.raw(
    `update memberships set provider_updated_at = greatest(provider_updated_at, cast(:at as timestamptz)),
       strongest_role = case
         when array_position(${strongestFirst}, coalesce(strongest_role, role)) <= array_position(${strongestFirst}, :role)
         then coalesce(strongest_role, role) else :role end
     where workspace_id = :workspaceId and user_id = :userId`,
    { ...key, role: said.role, at: said.at },
  );
  return result.rowCount === 1;
}

/** Finds the given memberships of a workspace and all others that can affect who owns it. */
export async function findMembershipsToResolve(
  transaction: Postgres,
  workspaceId: WorkspaceId,
  userIds: readonly UserId[],
): Promise<StoredMembership[]> {
  const { rows } = await transaction.raw<{ rows: Row[] }>(
    `select m.user_id, u.subject, m.role, m.removed_at is not null as removed,
       coalesce(m.source_role, m.role) as source_role,
       coalesce(m.source_removed, m.removed_at is not null) as source_removed,
       coalesce(m.source_updated_at, m.created_at) as changed_at,
       coalesce(m.strongest_role, m.role) as strongest_role,
       u.subject is not distinct from w.creator_subject and not m.source_is_member as is_creator,
       u.deleted_at as user_deleted_at
     from memberships m
     join users u on u.id = m.user_id
     join workspaces w on w.id = m.workspace_id
     where m.workspace_id = :workspaceId
       and (m.user_id = any(:userIds) or coalesce(m.strongest_role, m.role) = 'owner' or u.subject = w.creator_subject)
     order by m.user_id`,
    { workspaceId, userIds: [...userIds] },
  );
  return rows.map((row) => ({
    userId: row.user_id,
    subject: row.subject,
    role: row.role,
    removed: row.removed,
    sourceRole: row.source_role,
    sourceRemoved: row.source_removed,
    changedAtMs: row.changed_at.getTime(),
    strongestRole: row.strongest_role,
    isCreator: row.is_creator,
    userDeletedAtMs: row.user_deleted_at?.getTime(),
  }));
}

/** Stores the role and the removal that apply. */
export async function saveResolved(
  transaction: Postgres,
  workspaceId: WorkspaceId,
  { userId, role, removedAtMs }: ResolvedMembership,
): Promise<void> {
  await transaction('memberships')
    .where({ workspace_id: workspaceId, user_id: userId })
    .update({ role, removed_at: removedAtMs === undefined ? null : new Date(removedAtMs) });
}

/** Returns whether the workspace is marked as deleted. */
export async function isWorkspaceDeleted(transaction: Postgres, workspaceId: WorkspaceId): Promise<boolean> {
  const row = await transaction('workspaces').where({ id: workspaceId }).whereNotNull('deleted_at').first('id');
  return row !== undefined;
}
