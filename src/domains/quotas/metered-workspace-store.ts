import type { WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findWorkspaces, type WorkspaceScope } from '../workspaces/index.ts';

/** A workspace with the projects whose spans count for it. */
export type MeteredWorkspace = WorkspaceScope & { projectIds: string[] };

/** Finds those of the workspaces that exist and have a project. Two round trips. */
export async function findMeteredWorkspaces(
  postgres: Postgres,
  workspaceIds: readonly string[],
): Promise<MeteredWorkspace[]> {
  const [workspaces, projects] = await Promise.all([
    findWorkspaces(postgres, workspaceIds),
    postgres('projects')
      .whereIn('workspace_id', workspaceIds)
      .select<{ id: string; workspace_id: string }[]>('id', 'workspace_id'),
  ]);
  const idsByWorkspace = new Map<string, string[]>(workspaces.map(({ id }) => [id, []]));
  for (const { id, workspace_id } of projects) idsByWorkspace.get(workspace_id)?.push(id);
  return workspaces
    .map((workspace) => ({ ...workspace, projectIds: idsByWorkspace.get(workspace.id) ?? [] }))
    .filter(({ projectIds }) => projectIds.length > 0);
}

/**
 * Lists ids of existing workspaces, in order, after the given one. Only the worker calls it, never
 * a tenant.
 */
export async function listWorkspaceIds(postgres: Postgres, after: string, limit: number): Promise<WorkspaceId[]> {
  const rows = await postgres('workspaces')
    .whereNull('deleted_at')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .select<{ id: WorkspaceId }[]>('id');
  return rows.map(({ id }) => id);
}

/** Stores that a threshold of a quota was reached. Returns false if it was stored before. */
export async function insertQuotaAlert(
  transaction: Postgres,
  alert: { workspaceId: string; resource: string; periodStart: Date; threshold: number },
): Promise<boolean> {
  const { workspaceId, resource, periodStart, threshold } = alert;
  const inserted: unknown[] = await transaction('quota_alerts')
    .insert({ workspace_id: workspaceId, resource, period_start: periodStart, threshold })
    .onConflict()
    .ignore()
    .returning('threshold');
  return inserted.length > 0;
}
