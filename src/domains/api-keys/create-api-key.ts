import { InvalidError } from '../../lib/errors.ts';
import { newId, type ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { mintApiKey, type Scope } from '../auth/index.ts';
import type { ApiKey } from './api-key.ts';
import { insertApiKey } from './api-key-store.ts';

export interface CreateApiKeyInput {
  projectId: ProjectId;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
}

/** Creates a key; `key` is the secret, which exists only in this answer. Throws InvalidError for an expiry in the past. */
export async function createApiKey(
  deps: { postgres: Postgres; apiKeyPepper: string },
  input: CreateApiKeyInput,
): Promise<{ apiKey: ApiKey; key: string }> {
  const createdAt = new Date();
  if (input.expiresAt !== null && input.expiresAt <= createdAt) {
    throw new InvalidError('invalid_body', `expires_at must be in the future, not ${input.expiresAt.toISOString()}.`, {
      errors: [{ path: 'expires_at', code: 'in_the_past', message: 'must be in the future' }],
    });
  }
  const minted = mintApiKey(deps.apiKeyPepper);
  const apiKey: ApiKey = {
    id: newId('key'),
    projectId: input.projectId,
    name: input.name,
    lookupId: minted.lookupId,
    last4: minted.last4,
    scopes: [...new Set(input.scopes)],
    expiresAt: input.expiresAt,
    createdAt,
  };
  await insertApiKey(deps.postgres, apiKey, minted.digest);
  return { apiKey, key: minted.key };
}
