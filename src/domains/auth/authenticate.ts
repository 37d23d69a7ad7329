import { createHash, timingSafeEqual } from 'node:crypto';
import { UnauthenticatedError } from '../../lib/errors.ts';
import type { ApiKeyCache } from './api-key-cache.ts';
import { lookupIdOf, matchesDigest } from './api-key-token.ts';
import type { Principal } from './principal.ts';

export interface Credentials {
  apiKey: string | undefined;
  adminKey: string | undefined;
}

export interface AuthenticateDeps {
  apiKeys: ApiKeyCache;
  apiKeyPepper: string;
  adminApiKey: string;
}

/** Who the credentials stand for. Throws UnauthenticatedError, with one message for every way a key can be wrong. */
export async function authenticate(deps: AuthenticateDeps, credentials: Credentials): Promise<Principal> {
  if (credentials.adminKey !== undefined) return authenticateAdmin(deps, credentials.adminKey);
  if (credentials.apiKey !== undefined) return authenticateApiKey(deps, credentials.apiKey);
  throw new UnauthenticatedError('credentials_required', 'Send an API key in the X-API-Key header.');
}

function authenticateAdmin(deps: AuthenticateDeps, adminKey: string): Principal {
  if (!timingSafeEqual(sha256(adminKey), sha256(deps.adminApiKey))) {
    throw new UnauthenticatedError('invalid_credentials', 'The admin key in X-Admin-Key is not valid.');
  }
  return { type: 'admin' };
}

async function authenticateApiKey(deps: AuthenticateDeps, key: string): Promise<Principal> {
  const lookupId = lookupIdOf(key);
  const record = lookupId === undefined ? undefined : await deps.apiKeys.find(lookupId);
  const nowMs = Date.now();
  if (
    record === undefined ||
    !matchesDigest(key, deps.apiKeyPepper, record.digest) ||
    record.revokedAtMs !== undefined ||
    (record.expiresAtMs !== undefined && record.expiresAtMs <= nowMs)
  ) {
    throw new UnauthenticatedError('invalid_credentials', 'The API key in X-API-Key is not valid, expired or revoked.');
  }
  return { type: 'api_key', keyId: record.id, scopes: record.scopes, project: record.project };
}

/** Digests have one length, which is what timingSafeEqual needs. */
function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
