import type { ProjectScope } from '../workspaces/index.ts';

/** What is stored of a key and needed to admit a request. */
export interface ApiKeyRecord {
  id: string;
  digest: Buffer;
  scopes: ReadonlySet<string>;
  expiresAtMs: number | undefined;
  revokedAtMs: number | undefined;
  project: ProjectScope;
}
