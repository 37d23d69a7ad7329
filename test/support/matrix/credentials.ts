import { scopes } from '../../../src/domains/auth/index.ts';
import type { Access } from '../../../src/http/endpoint.ts';
import { newKey, type TestApi } from '../api.ts';
import { signToken } from '../jwks-server.ts';
import { newUser, tokenFor } from '../users.ts';
import { type Role, roles, type Tenants } from './tenants.ts';

/** The caller of a credential. Undefined if the credential is not valid. */
export type Holder =
  | { type: 'key'; projectId: string; workspaceId: string; scopes: ReadonlySet<string> }
  | { type: 'user'; workspaceId: string; role: Role }
  | { type: 'operator' };

export interface Credential {
  /** A short name, used as the title of a column. */
  name: string;
  holder: Holder | undefined;
  headers: Readonly<Record<string, string>>;
  /** Whether the credential belongs to the other tenant, which has access to its own data. */
  foreign?: true;
}

/** Every kind of credential. A credential that depends on the contract is created for its access. */
export interface Credentials {
  none: Credential;
  for(access: Access): readonly Credential[];
}

const withKey = (key: string) => ({ 'X-API-Key': key });
const withToken = (token: string) => ({ Authorization: `Bearer ${token}` });

export async function createCredentials(api: TestApi, tenants: Tenants): Promise<Credentials> {
  const none = { name: 'none', holder: undefined, headers: {} };
  const wrong = [none, ...(await wrongCredentials(api, tenants))];
  const good = [...keyCredentials(tenants), ...tokenCredentials(tenants), operatorOf(api)];
  const lacking = new Map<string, Credential>();
  for (const scope of scopes) lacking.set(scope, await keyWithout(api, tenants, scope));
  return {
    none,
    for(access) {
      // If no scope is required, a key with few scopes is equal to one with all.
      const limited = lacking.get('scope' in access ? access.scope : 'keys:read');
      if (limited === undefined) throw new Error(`${JSON.stringify(access)} is not a scope that a key can have`);
      return [...wrong, ...good, limited];
    },
  };
}

async function wrongCredentials(api: TestApi, { own, users }: Tenants): Promise<Credential[]> {
  const { key } = own.project;
  const [revoked, expired] = [await newKey(api, own.project.id, {}), await newKey(api, own.project.id, {})];
  const keys = api.postgres('api_keys');
  await keys.clone().where({ id: revoked.id }).update({ revoked_at: new Date() });
  await keys
    .clone()
    .where({ id: expired.id })
    .update({ expires_at: new Date(Date.now() - 1) });
  const deleted = await newUser(api, { workspaceId: own.project.workspaceId, role: 'owner' });
  await api.postgres('users').where({ id: deleted.id }).update({ deleted_at: new Date() });
  const owner = users.owner;
  const claims = { sub: owner.subject, exp: Math.floor(Date.now() / 1_000) + 3_600 };
  const otherLast = key.endsWith('0') ? '1' : '0';
  const headers: Record<string, Record<string, string>> = {
    malformed: withKey('nonsense'),
    checksum: withKey(key.slice(0, -1) + otherLast),
    revoked: withKey(revoked.key),
    expired: withKey(expired.key),
    'jwt exp': withToken(tokenFor(api, owner.subject, { exp: 1 })),
    'jwt bent': withToken(tampered(users.viewer.token, owner.subject)),
    'jwt none': withToken(signToken({ alg: 'none', typ: 'JWT' }, claims, undefined)),
    'jwt gone': withToken(deleted.token),
    'jwt key': withToken(key),
    'op wrong': { 'X-Admin-Key': key },
    two: { ...withKey(key), ...withToken(owner.token) },
  };
  return Object.entries(headers).map(([name, sent]) => ({ name, holder: undefined, headers: sent }));
}

/** Returns a token with another subject and the signature of the first. */
function tampered(token: string, subject: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims: object = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const other = Buffer.from(JSON.stringify({ ...claims, sub: subject })).toString('base64url');
  return `${header}.${other}.${signature}`;
}

function keyCredentials({ own, sibling, foreign }: Tenants): Credential[] {
  const all = new Set<string>(scopes);
  return Object.entries({ key: own, 'key sib': sibling, 'key B': foreign }).map(([name, { project }]) => ({
    name,
    holder: { type: 'key', projectId: project.id, workspaceId: project.workspaceId, scopes: all },
    headers: withKey(project.key),
    ...(name === 'key B' && { foreign: true }),
  }));
}

function tokenCredentials({ own, foreign, users, foreignOwner }: Tenants): Credential[] {
  const members: Credential[] = roles.map((role) => ({
    name: role,
    holder: { type: 'user', workspaceId: own.project.workspaceId, role },
    headers: withToken(users[role].token),
  }));
  const holder = { type: 'user', workspaceId: foreign.project.workspaceId, role: 'owner' } as const;
  return [...members, { name: 'jwt B', holder, headers: withToken(foreignOwner.token), foreign: true }];
}

function operatorOf(api: TestApi): Credential {
  return { name: 'operator', holder: { type: 'operator' }, headers: { 'X-Admin-Key': api.config.adminApiKey } };
}

async function keyWithout(api: TestApi, { own }: Tenants, scope: string): Promise<Credential> {
  const others = scopes.filter((other) => other !== scope);
  const { id, workspaceId } = own.project;
  const { key } = await newKey(api, id, { scopes: others });
  return {
    name: 'key -scope',
    holder: { type: 'key', projectId: id, workspaceId, scopes: new Set(others) },
    headers: withKey(key),
  };
}
