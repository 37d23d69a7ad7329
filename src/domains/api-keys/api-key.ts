import type { ProjectId } from '../../lib/ids.ts';
import type { Scope } from '../auth/index.ts';

/** A stored API key without its secret. */
export interface ApiKey {
  id: string;
  projectId: ProjectId;
  name: string;
  lookupId: string;
  last4: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Accurate to the minute. */
  lastUsedAt: Date | null;
  createdAt: Date;
  /** Id of the key that a rotation created. */
  replacedBy: string | null;
}

/** Returns why a key is no longer valid, or undefined while it is valid. */
export function endOf(apiKey: ApiKey, now: Date): 'revoked' | 'expired' | undefined {
  if (apiKey.revokedAt !== null) return 'revoked';
  return apiKey.expiresAt !== null && apiKey.expiresAt <= now ? 'expired' : undefined;
}
