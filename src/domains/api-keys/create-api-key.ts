import { InvalidError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import { mintApiKey, type Scope } from '../auth/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { ApiKey } from './api-key.ts';
import { insertApiKey } from './api-key-store.ts';

export interface CreateApiKeyInput {
  project: ProjectScope;
  actor: AuditActor;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
}

/** A key with its secret, which is stored nowhere else. */
export interface NewApiKey {
  apiKey: ApiKey;
  key: string;
}

/**
 * Creates a key.
 * @throws InvalidError for an expiry in the past
 */
export async function createApiKey(
  deps: { postgres: Postgres; apiKeyPepper: string },
  { project, actor, name, scopes, expiresAt }: CreateApiKeyInput,
): Promise<NewApiKey> {
  if (expiresAt !== null && expiresAt <= new Date()) {
    throw new InvalidError(
      'invalid_body',
      `expires_at must be in the future. The given time is ${expiresAt.toISOString()}.`,
      {
        errors: [{ path: 'expires_at', code: 'in_the_past', message: 'must be in the future' }],
      },
    );
  }
  return inTransaction(deps.postgres, async (transaction) => {
    const created = await storeNewKey(transaction, deps.apiKeyPepper, { project, name, scopes, expiresAt });
    await recordAudit(transaction, {
      workspaceId: project.workspaceId,
      projectId: project.projectId,
      actor,
      action: 'api_key.created',
      targetType: 'api_key',
      targetId: created.apiKey.id,
      details: { name, scopes: created.apiKey.scopes, expires_at: expiresAt },
    });
    return created;
  });
}

/** Creates a key and stores it within a transaction. */
export async function storeNewKey(
  transaction: Postgres,
  apiKeyPepper: string,
  { project, name, scopes, expiresAt }: Omit<CreateApiKeyInput, 'actor'>,
): Promise<NewApiKey> {
  const { key, lookupId, last4, digest } = mintApiKey(apiKeyPepper);
  const apiKey: ApiKey = {
    id: newId('key'),
    projectId: project.projectId,
    name,
    lookupId,
    last4,
    scopes: [...new Set(scopes)],
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
    replacedBy: null,
    createdAt: new Date(),
  };
  await insertApiKey(transaction, apiKey, digest);
  return { apiKey, key };
}
