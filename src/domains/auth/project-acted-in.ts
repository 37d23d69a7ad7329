import { InvalidError, NotFoundError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findDefaultProjectId, type ProjectScope, roleSuffices } from '../workspaces/index.ts';
import { insufficientRole, unknownProject } from './authorize.ts';
import type { Principal, UserPrincipal } from './principal.ts';
import { leastRoleOf } from './roles.ts';
import type { Scope } from './scopes.ts';
import type { Tenancy } from './tenancy.ts';

interface ProjectDeps {
  postgres: Postgres;
  tenancy: Tenancy;
}

/**
 * Returns the project in which a request without a project in its path acts: the given one, else
 * that of the key or token, else the default project of the user's workspace.
 * @throws NotFoundError for a project that the caller must not see, or without a default project
 * @throws ForbiddenError when the role of the user there does not include the scope
 * @throws InvalidError when the operator names no project
 */
export async function projectActedIn(
  deps: ProjectDeps,
  principal: Principal,
  { projectId, scope }: { projectId: string | undefined; scope: Scope },
): Promise<ProjectScope> {
  if (principal.type === 'anonymous') throw new Error('An open route has no project');
  if (principal.type === 'api_key' || principal.type === 'feedback_token') {
    if (projectId !== undefined && projectId !== principal.project.projectId) throw unknownProject();
    return principal.project;
  }
  const id =
    projectId ??
    (principal.type === 'user' ? await findDefaultProjectId(deps.postgres, principal.workspace.id) : undefined);
  if (id === undefined) throw principal.type === 'admin' ? projectRequired() : noDefaultProject();
  const project = await deps.tenancy.findProject(id);
  if (project === undefined) throw unknownProject();
  if (principal.type === 'user') await requireScope(deps, principal, project, scope);
  return project;
}

async function requireScope(
  { tenancy }: ProjectDeps,
  { subject }: UserPrincipal,
  { workspaceId }: ProjectScope,
  scope: Scope,
): Promise<void> {
  // The user is known, so that no other claim is read.
  const claims = { subject, expiresAtMs: 0, orgId: undefined, email: undefined, name: undefined };
  const role = (await tenancy.findUser(claims)).memberships.get(workspaceId)?.role;
  if (role === undefined) throw unknownProject();
  if (!roleSuffices(role, leastRoleOf[scope])) throw insufficientRole(role, leastRoleOf[scope]);
}

function projectRequired(): InvalidError {
  const message = 'is required with the admin key';
  return new InvalidError('invalid_body', `project_id: ${message}`, {
    errors: [{ path: 'project_id', code: 'required', message }],
  });
}

function noDefaultProject(): NotFoundError {
  return new NotFoundError('project_not_found', 'Your workspace has no project. Send project_id.');
}
