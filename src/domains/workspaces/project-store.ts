import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { planOverridesFrom } from './plan-overrides.ts';
import { planNamed } from './plans.ts';
import type { Project, ProjectScope } from './project.ts';

interface Row {
  id: ProjectId;
  workspace_id: WorkspaceId;
  name: string;
  is_default: boolean;
  created_at: Date;
}

interface ScopeRow {
  id: ProjectId;
  workspace_id: WorkspaceId;
  plan: string;
  plan_overrides: unknown;
}

/** Stores a project. Returns false when the workspace already has a project of that name. */
export async function insertProject(transaction: Postgres, project: Project): Promise<boolean> {
  const stored = await transaction('projects')
    .insert({
      id: project.id,
      workspace_id: project.workspaceId,
      name: project.name,
      is_default: project.isDefault,
      created_at: project.createdAt,
    })
    .onConflict(['workspace_id', 'name'])
    .ignore()
    .returning('id');
  return stored.length === 1;
}

/** Counts the projects of a workspace. */
export async function countProjects(postgres: Postgres, workspaceId: WorkspaceId): Promise<number> {
  const counted = await postgres('projects')
    .where({ workspace_id: workspaceId })
    .first<{ count: number }>(postgres.raw('cast(count(*) as integer) as count'));
  return counted.count;
}

/**
 * Lists at most `limit` projects of a workspace, oldest first, after the given id. With `onlyId`,
 * lists only this project.
 */
export async function listProjects(
  postgres: Postgres,
  query: { workspaceId: string; afterId?: string | undefined; onlyId?: string | undefined; limit: number },
): Promise<Project[]> {
  const select = postgres('projects').where({ workspace_id: query.workspaceId });
  if (query.afterId !== undefined) select.where('id', '>', query.afterId);
  if (query.onlyId !== undefined) select.where({ id: query.onlyId });
  const rows = await select
    .orderBy('id')
    .limit(query.limit)
    .select<Row[]>('id', 'workspace_id', 'name', 'is_default', 'created_at');
  return rows.map((row) => ({
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    isDefault: row.is_default,
    createdAt: row.created_at,
  }));
}

/**
 * Returns the workspace and plan of a project, or undefined when there is no such project or its
 * workspace was deleted.
 */
export async function findProjectScope(postgres: Postgres, projectId: string): Promise<ProjectScope | undefined> {
  const row = await postgres('projects')
    .join('workspaces', 'workspaces.id', 'projects.workspace_id')
    .where('projects.id', projectId)
    .whereNull('workspaces.deleted_at')
    .first<ScopeRow | undefined>(
      'projects.id',
      'projects.workspace_id',
      'workspaces.plan',
      'workspaces.plan_overrides',
    );
  return (
    row && {
      projectId: row.id,
      workspaceId: row.workspace_id,
      plan: planNamed(row.plan),
      overrides: planOverridesFrom(row.plan_overrides),
    }
  );
}

/** Returns the id of the project that is marked as default, otherwise of the oldest. */
export async function findDefaultProjectId(postgres: Postgres, workspaceId: string): Promise<ProjectId | undefined> {
  const row = await postgres('projects')
    .where({ workspace_id: workspaceId })
    .orderBy([{ column: 'is_default', order: 'desc' }, { column: 'id' }])
    .first<{ id: ProjectId } | undefined>('id');
  return row?.id;
}

/** Returns the workspace of each of these projects that exists. */
export async function findProjectWorkspaces(
  postgres: Postgres,
  projectIds: readonly string[],
): Promise<Map<string, string>> {
  if (projectIds.length === 0) return new Map();
  const rows = await postgres('projects')
    .whereRaw('id = any(?)', [[...projectIds]])
    .select<Row[]>('id', 'workspace_id');
  return new Map(rows.map(({ id, workspace_id }) => [id, workspace_id]));
}
