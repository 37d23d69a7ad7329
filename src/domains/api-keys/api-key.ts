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
  createdAt: Date;
}
