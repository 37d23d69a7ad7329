import { endpoint } from '../../http/endpoint.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { createProject } from './create-project.ts';
import { createProjectBody, projectSchema, projectToWire, workspaceParams } from './workspaces.schema.ts';

export function workspacesEndpoints(deps: { postgres: Postgres }) {
  return [
    endpoint({
      operationId: 'createProject',
      method: 'POST',
      path: '/api/workspaces/{workspace_id}/projects',
      summary: 'Create a project in a workspace',
      tag: 'workspaces',
      access: { role: 'admin' },
      rateClass: 'write',
      params: workspaceParams,
      body: createProjectBody,
      responses: { 201: { description: 'The project', schema: projectSchema } },
      problems: ['workspace_not_found', 'name_taken'],
      handle: async ({ params, body }) => {
        const project = await createProject(deps, { workspaceId: params.workspace_id, name: body.name });
        return { status: 201, body: projectToWire(project) };
      },
    }),
  ];
}
