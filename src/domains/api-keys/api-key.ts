import type { ProjectId } from '../../lib/ids.ts';
import type { Scope } from '../auth/index.ts';

/** A stored API key: everything but its secret. */
export interface ApiKey {
  id: string;
  projectId: ProjectId;
  name: string;
  lookupId: string;
  last4: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** To the minute. */
  lastUsedAt: Date | null;
  createdAt: Date;
}

/** Why a key no longer opens anything, or undefined while it does. */
export function endOf(apiKey: ApiKey, now: Date): 'revoked' | 'expired' | undefined {
  if (apiKey.revokedAt !== null) return 'revoked';
  return apiKey.expiresAt !== null && apiKey.expiresAt <= now ? 'expired' : undefined;
}
