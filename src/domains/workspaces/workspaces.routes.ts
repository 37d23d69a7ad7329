import { endpointsFor } from '../../http/endpoint.ts';
import { membersEndpoints } from './members.routes.ts';
import { projectsEndpoints } from './projects.routes.ts';
import { updateWorkspace } from './update-workspace.ts';
import { updateWorkspaceBody, workspaceParams, workspaceSchema, workspaceToWire } from './workspaces.schema.ts';
import type { WorkspacesDeps } from './workspaces-deps.ts';

/** Creates the endpoints for a workspace, its projects and its members. */
export function workspacesEndpoints<P>(deps: WorkspacesDeps<P>) {
  return [updateWorkspaceEndpoint(deps), ...projectsEndpoints(deps), ...membersEndpoints(deps)];
}

function updateWorkspaceEndpoint<P>(deps: WorkspacesDeps<P>) {
  return endpointsFor<P>().endpoint({
    operationId: 'updateWorkspace',
    method: 'PATCH',
    path: '/api/workspaces/{workspace_id}',
    summary: 'Change the name or the plan of a workspace',
    description:
      'An owner may change the name and lower the plan (`enterprise`, `team`, `pro`, `free`). Raising the plan requires the admin key. ' +
      'Changing `plan_overrides` also requires it. New `plan_overrides` replace the previous ones. ' +
      'All processes apply the change within one second.',
    tag: 'workspaces',
    access: { role: 'owner' },
    rateClass: 'write',
    params: workspaceParams,
    body: updateWorkspaceBody,
    responses: { 200: { description: 'The workspace', schema: workspaceSchema } },
    problems: ['workspace_not_found', 'admin_required'],
    handle: async ({ params, body, principal, requestId }) => {
      const workspace = await updateWorkspace(deps, {
        workspaceId: params.workspace_id,
        change: { name: body.name, plan: body.plan, overrides: body.plan_overrides },
        caller: deps.callerOf(principal, requestId),
      });
      return { status: 200, body: workspaceToWire(workspace) };
    },
  });
}
