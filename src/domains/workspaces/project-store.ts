import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';
import { planOverridesFrom } from './plan-overrides.ts';
import { planNamed } from './plans.ts';
import type { Project, ProjectScope } from './project.ts';

interface ScopeRow {
  id: ProjectId;
  workspace_id: WorkspaceId;
  plan: string;
  plan_overrides: unknown;
}

/** Stores the project unless its workspace is absent (`no_workspace`) or has one of that name (`name_taken`). */
export async function insertProject(
  postgres: Postgres,
  project: Project,
): Promise<'stored' | 'no_workspace' | 'name_taken'> {
  const result = await runPostgres(() =>
    postgres.raw<{ rows: { workspace: boolean; stored: boolean }[] }>(
      `with workspace as (select id from workspaces where id = :workspaceId),
            stored as (
              insert into projects (id, workspace_id, name, created_at)
              select :id, id, :name, :createdAt from workspace
              on conflict (workspace_id, name) do nothing
              returning id)
       select exists (select from workspace) as workspace, exists (select from stored) as stored`,
      { id: project.id, workspaceId: project.workspaceId, name: project.name, createdAt: project.createdAt },
    ),
  );
  const row = result.rows[0];
  if (row?.workspace !== true) return 'no_workspace';
  return row.stored ? 'stored' : 'name_taken';
}

/** The project's tenancy and plan, or undefined when there is no such project. */
export async function findProjectScope(postgres: Postgres, projectId: string): Promise<ProjectScope | undefined> {
  const row = await runPostgres(() =>
    postgres('projects')
      .join('workspaces', 'workspaces.id', 'projects.workspace_id')
      .where('projects.id', projectId)
      .whereNull('workspaces.deleted_at')
      .first<ScopeRow | undefined>(
        'projects.id',
        'projects.workspace_id',
        'workspaces.plan',
        'workspaces.plan_overrides',
      ),
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
