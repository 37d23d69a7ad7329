import { randomUUID } from 'node:crypto';
import { newId } from '../../src/lib/ids.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import type { TestApi } from './api.ts';
import { signToken } from './jwks-server.ts';

export interface TestUser {
  id: string;
  subject: string;
  /** A token without an organization. */
  token: string;
}

/** Returns a token with the shared secret of the API. It is valid for an hour unless `claims` change this. */
export function tokenFor(api: TestApi, subject: string, claims: Readonly<Record<string, unknown>> = {}): string {
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  return signToken({ alg: 'HS256', typ: 'JWT' }, { sub: subject, exp, ...claims }, api.config.jwt.secret);
}

/** Creates a user as after an event of the identity provider. The user is a member of the workspace if one is given. */
export async function newUser(
  api: TestApi,
  membership?: { workspaceId: string; role: 'viewer' | 'member' | 'admin' | 'owner' },
): Promise<TestUser> {
  const user = { id: newId('usr'), subject: `user_${randomUUID()}` };
  await api.postgres('users').insert({ ...user, email: `${user.subject}@example.test`, name: 'Test' });
  if (membership !== undefined) await addMember(api.postgres, user.id, membership);
  return { ...user, token: tokenFor(api, user.subject) };
}

export async function addMember(
  postgres: Postgres,
  userId: string,
  { workspaceId, role }: { workspaceId: string; role: string },
): Promise<void> {
  await postgres('memberships').insert({ workspace_id: workspaceId, user_id: userId, role });
}

/** Returns the latest audit record of a workspace, without id and time. */
export async function latestAudit(api: TestApi, workspaceId: string): Promise<Record<string, unknown> | undefined> {
  const row = await api
    .postgres('audit_log')
    .where({ workspace_id: workspaceId })
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .first<Record<string, unknown> | undefined>(
      'actor_type',
      'actor_id',
      'action',
      'target_id',
      'details',
      'request_id',
    );
  return row;
}
