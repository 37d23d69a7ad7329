import type { ProjectScope } from '../workspaces/index.ts';
import { type Principal, workspaceOf } from './principal.ts';

/**
 * Returns the project of the path.
 * @throws Error on a route without a project. That is a bug: authorize() finds the project or
 * refuses the request.
 */
export function projectOf(principal: Principal): ProjectScope {
  if ('project' in principal && principal.project !== undefined) return principal.project;
  throw new Error('The route has no project');
}

/**
 * Returns the tenant of an idempotency key: the project or workspace of the path, otherwise the one
 * that the caller acts in, otherwise `operator`. Each user of it has keys of their own, because an effect may depend on
 * who caused it.
 */
export function tenantOf(principal: Principal, params: Readonly<Record<string, string>>): string {
  const isOfProject = principal.type === 'api_key' || principal.type === 'feedback_token';
  const own = isOfProject ? principal.project.projectId : workspaceOf(principal)?.id;
  const tenant = params.project_id ?? params.workspace_id ?? own ?? 'operator';
  return principal.type === 'user' ? `${tenant} ${principal.userId}` : tenant;
}
