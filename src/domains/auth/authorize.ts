import type { IncomingMessage } from 'node:http';
import type { CredentialOptions } from '../../http/app-options.ts';
import type { Access } from '../../http/endpoint.ts';
import { ForbiddenError, NotFoundError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/network-of.ts';
import { type ProjectScope, type Role, roleSuffices } from '../workspaces/index.ts';
import { admitFeedbackToken } from './admit-feedback-token.ts';
import { type AuthenticateDeps, authenticate, type Identity } from './authenticate.ts';
import { credentialOf, findCredential } from './credentials.ts';
import { looksLikeFeedbackToken } from './feedback-token.ts';
import type { Principal, UserPrincipal } from './principal.ts';
import { leastRoleOf } from './roles.ts';
import { isScope } from './scopes.ts';

type Closed = Exclude<Access, { open: true }>;
type Params = Readonly<Record<string, string>>;

/**
 * Decides before the body is read whether a request may reach its handler. A project or workspace
 * of another owner gets the same 404 as one that does not exist. Only a route with `inBody`, which reads a feedback
 * token from the body, takes feedback tokens.
 * @throws UnauthenticatedError, ForbiddenError or NotFoundError
 */
export async function authorize(
  deps: AuthenticateDeps,
  request: Pick<IncomingMessage, 'rawHeaders' | 'socket'>,
  access: Access,
  params: Params,
  { inBody, atMs = Date.now() }: CredentialOptions = {},
): Promise<Principal> {
  if ('open' in access) return { type: 'anonymous' };
  if (inBody !== undefined) {
    const sent = findCredential(request);
    const token = sent === undefined ? await inBody() : sent.value;
    const isForFeedback = sent === undefined || (sent.kind === 'token' && looksLikeFeedbackToken(sent.value));
    if (token !== undefined && isForFeedback)
      return admitFeedbackToken(deps, token, { sentIn: sent ? 'header' : 'body', atMs });
  }
  const address = networkOf(request.socket.remoteAddress);
  const caller = await authenticate(deps, credentialOf(request), { address, atMs });
  if (caller.type === 'admin') return admitAdmin(deps, params);
  return caller.type === 'api_key' ? admitApiKey(caller, access, params) : admitUser(deps, caller, access, params);
}

/** Admits the operator, who may do everything with existing projects and workspaces. */
async function admitAdmin({ tenancy }: AuthenticateDeps, params: Params): Promise<Principal> {
  const { project_id: projectId, workspace_id: workspaceId } = params;
  const workspace = workspaceId === undefined ? undefined : await tenancy.findWorkspace(workspaceId);
  if (workspaceId !== undefined && workspace === undefined) throw unknownWorkspace();
  const project = projectId === undefined ? undefined : await tenancy.findProject(projectId);
  if (projectId !== undefined && !isWithin(project, workspaceId)) throw unknownProject();
  if (project === undefined) return { type: 'admin', ...(workspace && { workspace }) };
  return { type: 'admin', workspace: workspaceScopeOf(project), project };
}

function admitApiKey({ record }: Extract<Identity, { type: 'api_key' }>, access: Closed, params: Params): Principal {
  if ('admin' in access) throw adminRequired();
  if ('role' in access) {
    throw new ForbiddenError(
      'admin_required',
      `An API key cannot call this operation. Send the token of a user with the role ${access.role} or a higher one, or the admin key.`,
    );
  }
  if ('scope' in access && !record.scopes.has(access.scope)) {
    throw new ForbiddenError('insufficient_scope', `The API key does not have the scope ${access.scope}.`);
  }
  const { project } = record;
  if (params.workspace_id !== undefined && params.workspace_id !== project.workspaceId) throw unknownWorkspace();
  if (params.project_id !== undefined && params.project_id !== project.projectId) throw unknownProject();
  return { type: 'api_key', keyId: record.id, scopes: record.scopes, project };
}

/**
 * Admits a user. The workspace of the path must be one of the user's. Without one in the path, the
 * workspace of the token applies.
 */
async function admitUser(
  deps: AuthenticateDeps,
  { record, home }: Extract<Identity, { type: 'user' }>,
  access: Closed,
  { project_id: projectId, workspace_id: workspaceId }: Params,
): Promise<UserPrincipal> {
  if ('admin' in access) throw adminRequired();
  if (workspaceId !== undefined && !record.memberships.has(workspaceId)) throw unknownWorkspace();
  const project = projectId === undefined ? undefined : await findProject(deps, record.userId, projectId);
  if (projectId !== undefined && !isWithin(project, workspaceId)) throw unknownProject();
  const id = workspaceId ?? project?.workspaceId;
  const membership = id === undefined ? home : record.memberships.get(id);
  if (membership === undefined) throw unknownProject();
  const { role, workspace } = membership;
  requireRole(role, leastRole(access));
  return {
    type: 'user',
    userId: record.userId,
    subject: record.subject,
    role,
    workspace,
    ...(project && { project }),
  };
}

/** Looks up a project that a user names. Users can invent ids, so unknown ones wait in turn. */
async function findProject({ tenancy, unknownProjects }: AuthenticateDeps, userId: string, projectId: string) {
  const find = () => tenancy.findProject(projectId);
  return tenancy.knowsProject(projectId) ? find() : unknownProjects.find(projectId, userId, find);
}

function leastRole(access: Exclude<Closed, { admin: true }>): Role {
  if ('role' in access) return access.role;
  if ('authenticated' in access) return 'viewer';
  // An unknown scope is open to no user.
  if (!isScope(access.scope)) throw new ForbiddenError('forbidden', 'Users cannot call this operation.');
  return leastRoleOf[access.scope];
}

function requireRole(role: Role, least: Role): void {
  if (!roleSuffices(role, least)) throw insufficientRole(role, least);
}

/** Returns the error for a role that is too low. */
export function insufficientRole(role: Role, least: Role): ForbiddenError {
  return new ForbiddenError(
    'insufficient_role',
    `This operation requires the role ${least} or a higher one. Your role is ${role}.`,
  );
}

function isWithin(project: ProjectScope | undefined, workspaceId: string | undefined): project is ProjectScope {
  return project !== undefined && (workspaceId === undefined || project.workspaceId === workspaceId);
}

function workspaceScopeOf({ workspaceId, plan, overrides }: ProjectScope) {
  return { id: workspaceId, plan, overrides };
}

function adminRequired(): ForbiddenError {
  return new ForbiddenError('admin_required', 'This operation requires the admin key, in the header X-Admin-Key.');
}

/** Returns the error for a project that does not exist or belongs to others. */
export function unknownProject(): NotFoundError {
  return new NotFoundError('project_not_found', 'The project does not exist or is not visible to you.');
}

function unknownWorkspace(): NotFoundError {
  return new NotFoundError('workspace_not_found', 'The workspace does not exist or is not visible to you.');
}
