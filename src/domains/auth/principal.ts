import type { ProjectScope } from '../workspaces/index.ts';

/** Who a request acts for, after its credential was checked. */
export type Principal =
  | { type: 'anonymous' }
  | { type: 'admin'; project?: ProjectScope }
  | { type: 'api_key'; keyId: string; scopes: ReadonlySet<string>; project: ProjectScope };
