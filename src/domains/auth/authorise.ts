import type { IncomingMessage } from 'node:http';
import type { Access } from '../../http/endpoint.ts';
import { ForbiddenError, NotFoundError, UnauthenticatedError } from '../../lib/errors.ts';
import type { ProjectScope, WorkspaceScope } from '../workspaces/index.ts';
import { type AuthenticateDeps, authenticate } from './authenticate.ts';
import type { Principal } from './principal.ts';

export interface AuthoriseDeps extends AuthenticateDeps {
  findProjectScope: (projectId: string) => Promise<ProjectScope | undefined>;
}

/**
 * Decides, before a body is read, whether the request may reach its handler. A project other than the key's own is 404, as
 * if it did not exist. Throws UnauthenticatedError, ForbiddenError or NotFoundError.
 */
export async function authorise(
  deps: AuthoriseDeps,
  request: IncomingMessage,
  access: Access,
  params: Readonly<Record<string, string>>,
): Promise<Principal> {
  if ('open' in access) return { type: 'anonymous' };
  const principal = await authenticate(deps, {
    apiKey: singleHeader(request, 'x-api-key'),
    adminKey: singleHeader(request, 'x-admin-key'),
  });
  if (principal.type === 'admin') return { type: 'admin', ...(await projectOfAdmin(deps, params.project_id)) };
  if (principal.type === 'api_key') admitApiKey(principal, access, params.project_id);
  return principal;
}

function admitApiKey(
  principal: Extract<Principal, { type: 'api_key' }>,
  access: Exclude<Access, { open: true }>,
  projectId: string | undefined,
): void {
  if ('operator' in access || 'role' in access) {
    throw new ForbiddenError('admin_required', 'This operation needs an administrator; an API key cannot do it.');
  }
  if ('scope' in access && !principal.scopes.has(access.scope)) {
    throw new ForbiddenError('insufficient_scope', `The API key lacks the scope ${access.scope}.`);
  }
  if (projectId !== undefined && projectId !== principal.project.projectId) throw unknownProject();
}

async function projectOfAdmin(
  deps: AuthoriseDeps,
  projectId: string | undefined,
): Promise<{ workspace: WorkspaceScope; project: ProjectScope } | undefined> {
  if (projectId === undefined) return undefined;
  const project = await deps.findProjectScope(projectId);
  if (project === undefined) throw unknownProject();
  return { workspace: { id: project.workspaceId, plan: project.plan, overrides: project.overrides }, project };
}

/** A credential sent twice is ambiguous, so it is none. Node joins repeated custom headers with ", ". */
function singleHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string') return value.trim();
  throw new UnauthenticatedError('invalid_credentials', `The header ${name} was sent more than once.`);
}

function unknownProject(): NotFoundError {
  return new NotFoundError('project_not_found', 'There is no such project.');
}
