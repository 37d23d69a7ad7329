import type { WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';
import { findWorkspace, type WorkspaceScope } from '../workspaces/index.ts';

/** A workspace with the projects whose spans count for it. */
export type MeteredWorkspace = WorkspaceScope & { projectIds: string[] };

/** Undefined when there is no such workspace. */
export async function findMeteredWorkspace(
  postgres: Postgres,
  workspaceId: string,
): Promise<MeteredWorkspace | undefined> {
  const workspace = await findWorkspace(postgres, workspaceId);
  if (workspace === undefined) return undefined;
  const rows = await runPostgres(() =>
    postgres('projects').where({ workspace_id: workspaceId }).select<{ id: string }[]>('id'),
  );
  return { ...workspace, projectIds: rows.map(({ id }) => id) };
}

/** Ids of the workspaces that exist, in order, after the one given. The worker's; no tenant asks this. */
export async function listWorkspaceIds(postgres: Postgres, after: string, limit: number): Promise<WorkspaceId[]> {
  const rows = await runPostgres(() =>
    postgres('workspaces')
      .whereNull('deleted_at')
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .select<{ id: WorkspaceId }[]>('id'),
  );
  return rows.map(({ id }) => id);
}
