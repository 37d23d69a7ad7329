import { newId, type UserId, type WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { PlanName } from '../workspaces/index.ts';

/**
 * Locks the workspace of an organization until the transaction ends. Creates an unknown one with a
 * default project; its name is the organization id until the organization's own event arrives. Lock
 * users before workspaces.
 */
export async function lockOrganization(
  transaction: Postgres,
  organizationId: string,
  plan: PlanName,
): Promise<{ id: WorkspaceId; isNew: boolean }> {
  const inserted = await transaction('workspaces')
    .insert({ id: newId('wsp'), name: organizationId.slice(0, 200), plan, external_org_id: organizationId })
    .onConflict('external_org_id')
    .ignore()
    .returning<{ id: WorkspaceId }[]>('id');
  for (const { id } of inserted) {
    await transaction('projects').insert({ id: newId('prj'), workspace_id: id, name: 'default', is_default: true });
  }
  const row = await transaction('workspaces')
    .where({ external_org_id: organizationId })
    .forNoKeyUpdate()
    .first<{ id: WorkspaceId }>('id');
  return { id: row.id, isNew: inserted.length === 1 };
}

/**
 * Locks all workspaces that a user was ever a member of. Locks in the order of ids, so that two
 * transactions cannot deadlock.
 */
export async function lockWorkspacesOf(transaction: Postgres, userId: UserId): Promise<WorkspaceId[]> {
  const rows = await transaction('workspaces')
    .whereIn('id', transaction('memberships').where({ user_id: userId }).select('workspace_id'))
    .orderBy('id')
    .forNoKeyUpdate()
    .select<{ id: WorkspaceId }[]>('id');
  return rows.map(({ id }) => id);
}

/**
 * Stores what a provider says about an organization, unless it is older than the known data. A
 * deleted one stays deleted. Returns whether it was stored.
 */
export async function updateOrganization(
  transaction: Postgres,
  id: WorkspaceId,
  said: { name: string; at: string },
): Promise<boolean> {
  const result = await transaction.raw<{ rowCount: number }>(
    `update workspaces set name = :name, source_updated_at = cast(:at as timestamptz)
     where id = :id and (coalesce(source_updated_at, '-infinity'), name) < (cast(:at as timestamptz), :name)`,
    { id, ...said },
  );
  return result.rowCount === 1;
}

/**
 * Stores who created an organization. The creator never changes, so the order of events does not
 * matter. Returns whether the value changed.
 */
export async function setCreator(transaction: Postgres, id: WorkspaceId, subject: string): Promise<boolean> {
  const result = await transaction.raw<{ rowCount: number }>(
    `update workspaces set creator_subject = :subject
     where id = :id and (creator_subject is null or creator_subject > :subject)`,
    { id, subject },
  );
  return result.rowCount === 1;
}

/**
 * Marks the workspace as deleted; its data and its name stay. Returns whether it existed before.
 */
export async function deleteOrganization(transaction: Postgres, id: WorkspaceId, at: string): Promise<boolean> {
  const { rows } = await transaction.raw<{ rows: { was_there: boolean }[] }>(
    `update workspaces set deleted_at = least(workspaces.deleted_at, cast(:at as timestamptz))
     from (select id, deleted_at from workspaces where id = :id) as before
     where workspaces.id = before.id
     returning before.deleted_at is null as was_there`,
    { id, at },
  );
  return rows[0]?.was_there === true;
}
