import type { ProjectScope } from '../workspaces/index.ts';
import { type Principal, workspaceOf } from './principal.ts';

/** The project of the path. Throws an Error on a route without one, which is our fault: authorise() finds it or refuses. */
export function projectOf(principal: Principal): ProjectScope {
  if ('project' in principal && principal.project !== undefined) return principal.project;
  throw new Error('The route has no project');
}

/** What a request's idempotency key is local to: the path's project or workspace, else what the caller acts in, else the operator's. */
export function tenantOf(principal: Principal, params: Readonly<Record<string, string>>): string {
  const ofKey = principal.type === 'api_key' ? principal.project.projectId : workspaceOf(principal)?.id;
  return params.project_id ?? params.workspace_id ?? ofKey ?? 'operator';
}
