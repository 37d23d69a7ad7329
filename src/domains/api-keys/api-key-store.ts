import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Scope } from '../auth/index.ts';
import type { ApiKey } from './api-key.ts';

interface Row {
  id: string;
  project_id: ProjectId;
  name: string;
  lookup_id: string;
  last4: string;
  scopes: Scope[];
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_at: Date;
  replaced_by: string | null;
}

const columns = [
  'id',
  'project_id',
  'name',
  'lookup_id',
  'last4',
  'scopes',
  'expires_at',
  'revoked_at',
  'last_used_at',
  'created_at',
  'replaced_by',
] as const;

/** Stores a key with the digest of its secret. */
export async function insertApiKey(postgres: Postgres, apiKey: ApiKey, digest: Buffer): Promise<void> {
  await postgres('api_keys').insert({
    id: apiKey.id,
    project_id: apiKey.projectId,
    name: apiKey.name,
    lookup_id: apiKey.lookupId,
    secret_digest: digest,
    last4: apiKey.last4,
    scopes: apiKey.scopes,
    expires_at: apiKey.expiresAt,
    created_at: apiKey.createdAt,
  });
}

/**
 * Lists keys, newest first, including revoked and expired ones. Ids sort by time and, unlike times,
 * are never equal.
 */
export async function listApiKeys(
  postgres: Postgres,
  { projectId, beforeId, limit }: { projectId: ProjectId; beforeId: string | undefined; limit: number },
): Promise<ApiKey[]> {
  const query = postgres('api_keys').where({ project_id: projectId }).orderBy('id', 'desc').limit(limit);
  if (beforeId !== undefined) query.where('id', '<', beforeId);
  const rows = await query.select<Row[]>(...columns);
  return rows.map(toApiKey);
}

/** Finds a key of the project, also a revoked or expired one. */
export async function findApiKey(postgres: Postgres, projectId: ProjectId, id: string): Promise<ApiKey | undefined> {
  const row = await postgres('api_keys')
    .where({ project_id: projectId, id })
    .first<Row | undefined>(...columns);
  return row && toApiKey(row);
}

/** Returns the key and locks it against changes until the transaction ends. */
export async function lockApiKey(transaction: Postgres, projectId: ProjectId, id: string): Promise<ApiKey | undefined> {
  const row = await transaction('api_keys')
    .where({ project_id: projectId, id })
    .forUpdate()
    .first<Row | undefined>(...columns);
  return row && toApiKey(row);
}

/** Ends a key now (`revokedAt`) or later (`expiresAt`). A rotated key names the key that replaces it. */
export async function endApiKey(
  transaction: Postgres,
  { projectId, id }: ApiKey,
  end: { revokedAt: Date } | { expiresAt: Date },
  replacedBy: string | null = null,
): Promise<void> {
  await transaction('api_keys')
    .where({ project_id: projectId, id })
    .update({
      ...('revokedAt' in end ? { revoked_at: end.revokedAt } : { expires_at: end.expiresAt }),
      ...(replacedBy !== null && { replaced_by: replacedBy }),
    });
}

function toApiKey(row: Row): ApiKey {
  return {
    id: row.id,
    projectId: row.project_id,
    name: row.name,
    lookupId: row.lookup_id,
    last4: row.last4,
    scopes: row.scopes,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    replacedBy: row.replaced_by,
  };
}
