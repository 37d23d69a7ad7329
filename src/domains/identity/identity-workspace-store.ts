import { newId, type UserId, type WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { PlanName } from '../workspaces/index.ts';

/**
 * The workspace of an organisation, locked until the transaction ends. For one never heard of it is created with a default project,
 * named by the organisation's id until its own event comes. Lock users before workspaces.
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

/** The workspaces a user was ever a member of, locked in the order of their ids, so that two transactions never wait for each other. */
export async function lockWorkspacesOf(transaction: Postgres, userId: UserId): Promise<WorkspaceId[]> {
  const rows = await transaction('workspaces')
    .whereIn('id', transaction('memberships').where({ user_id: userId }).select('workspace_id'))
    .orderBy('id')
    .forNoKeyUpdate()
    .select<{ id: WorkspaceId }[]>('id');
  return rows.map(({ id }) => id);
}

/** Stores what a provider says of an organisation, unless it is older than what is known; a deleted one stays so. Whether it was stored. */
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

/** Who created an organisation never changes, so it is stored whenever it is said. Whether it is news. */
export async function setCreator(transaction: Postgres, id: WorkspaceId, subject: string): Promise<boolean> {
  const result = await transaction.raw<{ rowCount: number }>(
    `update workspaces set creator_subject = :subject
     where id = :id and (creator_subject is null or creator_subject > :subject)`,
    { id, subject },
  );
  return result.rowCount === 1;
}

/** Marks the workspace as deleted; its data and its name stay. Whether it was there before. */
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
