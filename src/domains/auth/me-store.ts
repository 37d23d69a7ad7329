import type { Postgres } from '../../stores/postgres/client.ts';

export interface KeyFacts {
  id: string;
  name: string;
  expires_at: Date | null;
}

export interface UserFacts {
  id: string;
  email: string | null;
  name: string | null;
}

/**
 * Finds the displayed data of an API key.
 * @throws UnavailableError when the database is unavailable
 */
export async function findKeyFacts(
  postgres: Postgres,
  { projectId, keyId }: { projectId: string; keyId: string },
): Promise<KeyFacts | undefined> {
  return postgres('api_keys')
    .where({ project_id: projectId, id: keyId })
    .first<KeyFacts | undefined>('id', 'name', 'expires_at');
}

/**
 * Finds the displayed data of a user.
 * @throws UnavailableError when the database is unavailable
 */
export async function findUserFacts(postgres: Postgres, userId: string): Promise<UserFacts | undefined> {
  return postgres('users').where({ id: userId }).first<UserFacts | undefined>('id', 'email', 'name');
}
