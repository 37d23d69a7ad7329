import type { ProjectScope } from '../workspaces/index.ts';

/** The stored data of a key that admits a request. */
export interface ApiKeyRecord {
  id: string;
  digest: Buffer;
  scopes: ReadonlySet<string>;
  expiresAtMs: number | undefined;
  revokedAtMs: number | undefined;
  project: ProjectScope;
}
