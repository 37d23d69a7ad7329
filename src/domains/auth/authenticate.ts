import { createHash, timingSafeEqual } from 'node:crypto';
import { ForbiddenError, UnauthenticatedError } from '../../lib/errors.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { ApiKeyRecord } from './api-key-record.ts';
import { lookupIdOf, matchesDigest } from './api-key-token.ts';
import type { Credential } from './credentials.ts';
import type { KeyUses } from './key-uses.ts';
import type { Tenancy } from './tenancy.ts';
import type { VerifyToken } from './token/token-verifier.ts';
import type { UnknownRecords } from './unknown-records.ts';
import type { Membership, UserRecord } from './users/user-record.ts';

export interface AuthenticateDeps {
  tenancy: Tenancy;
  verifyToken: VerifyToken;
  keyUses: Pick<KeyUses, 'note'>;
  unknownKeys: UnknownRecords<ApiKeyRecord>;
  unknownProjects: UnknownRecords<ProjectScope>;
  apiKeyPepper: string;
  adminApiKey: string;
}

/** The authenticated caller, before the requested operation is considered. */
export type Identity =
  | { type: 'admin' }
  | { type: 'api_key'; record: ApiKeyRecord }
  /** `home` is the membership used when the path names no workspace. */
  | { type: 'user'; record: UserRecord; home: Membership };

/**
 * Returns the identity of a credential. A token must not have expired at `atMs`, and a key must not have expired now.
 * @throws UnauthenticatedError with the same message for every invalid credential of a kind
 * @throws ForbiddenError when the token names an organization that the user does not belong to
 */
export async function authenticate(
  deps: AuthenticateDeps,
  { kind, value }: Credential,
  { address, atMs }: { address: string | undefined; atMs: number },
): Promise<Identity> {
  if (kind === 'admin_key') return authenticateAdmin(deps, value);
  return kind === 'api_key' ? authenticateApiKey(deps, value, address) : authenticateToken(deps, value, atMs);
}

function authenticateAdmin(deps: AuthenticateDeps, adminKey: string): Identity {
  if (!timingSafeEqual(sha256(adminKey), sha256(deps.adminApiKey))) {
    throw new UnauthenticatedError('invalid_credentials', 'The admin key in X-Admin-Key is not valid.');
  }
  return { type: 'admin' };
}

async function authenticateApiKey(deps: AuthenticateDeps, key: string, address: string | undefined): Promise<Identity> {
  const lookupId = lookupIdOf(key);
  const record = lookupId === undefined ? undefined : await findApiKey(deps, lookupId, address);
  const nowMs = Date.now();
  if (
    record === undefined ||
    !matchesDigest(key, deps.apiKeyPepper, record.digest) ||
    record.revokedAtMs !== undefined ||
    (record.expiresAtMs !== undefined && record.expiresAtMs <= nowMs)
  ) {
    throw new UnauthenticatedError('invalid_credentials', 'The API key in X-API-Key is not valid, expired or revoked.');
  }
  deps.keyUses.note(record.id);
  return { type: 'api_key', record };
}

async function findApiKey(
  { tenancy, unknownKeys }: AuthenticateDeps,
  lookupId: string,
  address: string | undefined,
): Promise<ApiKeyRecord | undefined> {
  if (tenancy.knowsApiKey(lookupId)) return tenancy.findApiKey(lookupId);
  return unknownKeys.find(lookupId, address, () => tenancy.findApiKey(lookupId));
}

async function authenticateToken(deps: AuthenticateDeps, token: string, atMs: number): Promise<Identity> {
  const claims = await deps.verifyToken(token, atMs);
  const record = claims && (await deps.tenancy.findUser(claims));
  // The token of a deleted user is handled like an expired one.
  if (claims === undefined || record === undefined || record.deleted) {
    throw new UnauthenticatedError('invalid_credentials', 'The bearer token is not valid or expired.');
  }
  return { type: 'user', record, home: homeOf(record, claims.orgId) };
}

/**
 * Returns the membership of the organization that the token names, otherwise of the personal
 * workspace. Membership is known only from the webhooks of the identity provider. A token proves
 * the user, but it may be older than the removal of the user, so its membership is not trusted.
 */
function homeOf(record: UserRecord, orgId: string | undefined): Membership {
  const memberships = [...record.memberships.values()];
  const home =
    orgId === undefined
      ? memberships.find(({ workspace }) => workspace.id === record.personalWorkspaceId)
      : memberships.find((membership) => membership.orgId === orgId);
  if (home !== undefined) return home;
  throw new ForbiddenError(
    'organization_not_accessible',
    'The token names an organization that does not exist or that the user is not a member of.',
  );
}

/** Hashes the text, because timingSafeEqual needs inputs of equal length. */
function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
