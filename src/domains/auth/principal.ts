import type { UserId } from '../../lib/ids.ts';
import type { ProjectScope, Role, WorkspaceScope } from '../workspaces/index.ts';

/**
 * The caller of a request after its credential was checked. `project` is the project of the path,
 * if there is one.
 */
export type Principal =
  | { type: 'anonymous' }
  | { type: 'admin'; workspace?: WorkspaceScope; project?: ProjectScope }
  | { type: 'api_key'; keyId: string; scopes: ReadonlySet<string>; project: ProjectScope }
  | FeedbackTokenPrincipal
  | UserPrincipal;

/** The holder of a feedback token, often a browser, who may give feedback on one trace. */
export interface FeedbackTokenPrincipal {
  type: 'feedback_token';
  project: ProjectScope;
  traceId: string;
  sentIn: 'header' | 'body';
}

export interface UserPrincipal {
  type: 'user';
  userId: UserId;
  /** The identity provider's user id, which is the `sub` claim of the token. */
  subject: string;
  /** Role in `workspace`. */
  role: Role;
  /**
   * The workspace of the path, otherwise the one of the token's `org_id`, otherwise the personal
   * workspace.
   */
  workspace: WorkspaceScope;
  project?: ProjectScope;
}

/**
 * Returns the key under which a request shares the resources of a process: its workspace, otherwise
 * `operator` or the source address.
 */
export function sharerOf(principal: Principal | undefined, address: string | undefined): string {
  const workspace = principal && workspaceOf(principal);
  return workspace?.id ?? (principal?.type === 'admin' ? 'operator' : `address ${address}`);
}

/**
 * Returns the workspace that a principal acts in. Its plan, limits and quotas apply. Undefined when
 * there is none.
 */
export function workspaceOf(principal: Principal): WorkspaceScope | undefined {
  if (principal.type === 'user') return principal.workspace;
  if (principal.type === 'admin') return principal.workspace;
  if (principal.type === 'anonymous') return undefined;
  const { workspaceId, plan, overrides } = principal.project;
  return { id: workspaceId, plan, overrides };
}

/**
 * Returns the workspace whose limits apply to a request. Undefined for an open route and for the
 * operator.
 */
export function limitedWorkspaceOf(principal: Principal | undefined): WorkspaceScope | undefined {
  return principal === undefined || principal.type === 'admin' ? undefined : workspaceOf(principal);
}
