import type { UserId } from '../../lib/ids.ts';
import type { ProjectScope, Role, WorkspaceScope } from '../workspaces/index.ts';

/** Who a request acts for, after its credential was checked. `project` is the one of the path, if the path has one. */
export type Principal =
  | { type: 'anonymous' }
  | { type: 'admin'; workspace?: WorkspaceScope; project?: ProjectScope }
  | { type: 'api_key'; keyId: string; scopes: ReadonlySet<string>; project: ProjectScope }
  | UserPrincipal;

export interface UserPrincipal {
  type: 'user';
  userId: UserId;
  /** The identity provider's user id, the token's `sub`. */
  subject: string;
  /** In `workspace`. */
  role: Role;
  /** The path's, else the one the token's `org_id` selects, else the personal one. */
  workspace: WorkspaceScope;
  project?: ProjectScope;
}

/** Whose share of a process a request uses: its workspace's, else the operator's or that of the address it comes from. */
export function sharerOf(principal: Principal | undefined, address: string | undefined): string {
  const workspace = principal && workspaceOf(principal);
  return workspace?.id ?? (principal?.type === 'admin' ? 'operator' : `address ${address}`);
}

/** The workspace a principal acts in: the one whose plan, limits and quotas apply. Undefined when it acts in none. */
export function workspaceOf(principal: Principal): WorkspaceScope | undefined {
  if (principal.type === 'user') return principal.workspace;
  if (principal.type === 'admin') return principal.workspace;
  if (principal.type === 'anonymous') return undefined;
  const { workspaceId, plan, overrides } = principal.project;
  return { id: workspaceId, plan, overrides };
}

/** The workspace whose limits apply to a request: an open route and the operator have none. */
export function limitedWorkspaceOf(principal: Principal | undefined): WorkspaceScope | undefined {
  return principal === undefined || principal.type === 'admin' ? undefined : workspaceOf(principal);
}
