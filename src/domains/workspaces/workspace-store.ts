import type { WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { planOverridesFrom } from './plan-overrides.ts';
import { planNamed } from './plans.ts';
import type { Workspace } from './workspace.ts';

interface Row {
  id: WorkspaceId;
  name: string;
  kind: Workspace['kind'];
  plan: string;
  plan_overrides: unknown;
  created_at: Date;
}

const columns = ['id', 'name', 'kind', 'plan', 'plan_overrides', 'created_at'];

/** Returns the workspace, or undefined when it does not exist or was deleted. */
export async function findWorkspace(postgres: Postgres, workspaceId: string): Promise<Workspace | undefined> {
  const row = await selectWorkspace(postgres, workspaceId);
  return row && toWorkspace(row);
}

/** Returns those of the workspaces that exist, in no particular order. */
export async function findWorkspaces(postgres: Postgres, workspaceIds: readonly string[]): Promise<Workspace[]> {
  const rows = await postgres('workspaces').whereIn('id', workspaceIds).whereNull('deleted_at').select<Row[]>(columns);
  return rows.map(toWorkspace);
}

/**
 * Like {@link findWorkspace}, but locks the workspace and its members against changes until the
 * transaction ends.
 */
export async function lockWorkspace(transaction: Postgres, workspaceId: string): Promise<Workspace | undefined> {
  const row = await selectWorkspace(transaction, workspaceId).forNoKeyUpdate();
  return row && toWorkspace(row);
}

/** Stores the changeable fields of a workspace. */
export async function saveWorkspace(transaction: Postgres, workspace: Workspace): Promise<void> {
  await transaction('workspaces')
    .where({ id: workspace.id })
    .update({
      name: workspace.name,
      plan: workspace.plan,
      plan_overrides: JSON.stringify(workspace.overrides),
    });
}

function selectWorkspace(postgres: Postgres, workspaceId: string) {
  return postgres('workspaces').where({ id: workspaceId }).whereNull('deleted_at').first<Row | undefined>(columns);
}

function toWorkspace(row: Row): Workspace {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    plan: planNamed(row.plan),
    overrides: planOverridesFrom(row.plan_overrides),
    createdAt: row.created_at,
  };
}
