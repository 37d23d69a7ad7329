import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';
import type { ApiKey } from './api-key.ts';

export async function insertApiKey(postgres: Postgres, apiKey: ApiKey, digest: Buffer): Promise<void> {
  await runPostgres(() =>
    postgres('api_keys').insert({
      id: apiKey.id,
      project_id: apiKey.projectId,
      name: apiKey.name,
      lookup_id: apiKey.lookupId,
      secret_digest: digest,
      last4: apiKey.last4,
      scopes: apiKey.scopes,
      expires_at: apiKey.expiresAt,
      created_at: apiKey.createdAt,
    }),
  );
}
