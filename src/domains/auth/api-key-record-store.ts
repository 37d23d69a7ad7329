import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { planNamed, planOverridesFrom } from '../workspaces/index.ts';
import type { ApiKeyRecord } from './api-key-record.ts';

interface Row {
  id: string;
  secret_digest: Buffer;
  scopes: string[];
  expires_at: Date | null;
  revoked_at: Date | null;
  project_id: ProjectId;
  workspace_id: WorkspaceId;
  plan: string;
  plan_overrides: unknown;
}

/**
 * Finds the key with this public id, with its project, workspace and plan. It takes no project,
 * because the key determines the project.
 */
export async function findApiKeyRecord(postgres: Postgres, lookupId: string): Promise<ApiKeyRecord | undefined> {
  const row = await postgres('api_keys')
    .join('projects', 'projects.id', 'api_keys.project_id')
    .join('workspaces', 'workspaces.id', 'projects.workspace_id')
    .where('api_keys.lookup_id', lookupId)
    .whereNull('workspaces.deleted_at')
    .first<Row | undefined>(
      'api_keys.id',
      'api_keys.secret_digest',
      'api_keys.scopes',
      'api_keys.expires_at',
      'api_keys.revoked_at',
      'api_keys.project_id',
      'projects.workspace_id',
      'workspaces.plan',
      'workspaces.plan_overrides',
    );
  return row && toRecord(row);
}

/**
 * Sets the last use of keys of any project to now. Skips keys that any process has updated within
 * the last minute.
 */
export async function markKeysUsed(postgres: Postgres, keyIds: readonly string[]): Promise<void> {
  await postgres('api_keys')
    .whereIn('id', keyIds)
    .whereRaw("(last_used_at is null or last_used_at <= now() - interval '1 minute')")
    .update({ last_used_at: postgres.fn.now() });
}

function toRecord(row: Row): ApiKeyRecord {
  return {
    id: row.id,
    digest: row.secret_digest,
    scopes: new Set(row.scopes),
    expiresAtMs: row.expires_at?.getTime(),
    revokedAtMs: row.revoked_at?.getTime(),
    project: {
      projectId: row.project_id,
      workspaceId: row.workspace_id,
      plan: planNamed(row.plan),
      overrides: planOverridesFrom(row.plan_overrides),
    },
  };
}
