import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import { createProject } from './create-project.ts';
import { listProjects } from './project-store.ts';
import { createProjectBody, pageQuery, projectSchema, projectToWire, workspaceParams } from './workspaces.schema.ts';
import type { WorkspacesDeps } from './workspaces-deps.ts';

const position = z.tuple([z.string()]);

/** Creates the endpoints for the projects of a workspace. */
export function projectsEndpoints<P>(deps: WorkspacesDeps<P>) {
  const { endpoint } = endpointsFor<P>();
  const common = {
    path: '/api/workspaces/{workspace_id}/projects',
    params: workspaceParams,
    tag: 'workspaces',
  } as const;
  return [
    endpoint({
      ...common,
      operationId: 'listProjects',
      method: 'GET',
      summary: 'List the projects of a workspace, oldest first. An API key lists only its own project',
      access: { authenticated: true },
      rateClass: 'read',
      query: pageQuery,
      responses: { 200: { description: 'A page of projects', schema: listOf(projectSchema) } },
      problems: ['workspace_not_found', 'invalid_cursor', 'cursor_mismatch'],
      handle: async ({ params, query, principal, requestId }) => {
        const fingerprint = fingerprintOf({ list: 'projects', ...params });
        const { cursor, limit } = query;
        const [afterId] = cursor === undefined ? [] : decodeCursor(deps.cursorSecret, fingerprint, cursor, position);
        const onlyId = deps.callerOf(principal, requestId).onlyProjectId;
        const found = await listProjects(deps.postgres, {
          workspaceId: params.workspace_id,
          afterId,
          onlyId,
          limit: limit + 1,
        });
        const after = ({ id }: { id: string }) => encodeCursor(deps.cursorSecret, fingerprint, [id]);
        return { status: 200, body: toPage(found, limit, projectToWire, after) };
      },
    }),
    endpoint({
      ...common,
      operationId: 'createProject',
      method: 'POST',
      summary: 'Create a project in a workspace',
      access: { role: 'admin' },
      rateClass: 'write',
      body: createProjectBody,
      responses: { 201: { description: 'The project', schema: projectSchema } },
      problems: ['workspace_not_found', 'name_taken', 'too_many_projects'],
      handle: async ({ params, body, principal, requestId }) => {
        const { actor } = deps.callerOf(principal, requestId);
        const project = await createProject(deps, { workspaceId: params.workspace_id, name: body.name, actor });
        return { status: 201, body: projectToWire(project) };
      },
    }),
  ];
}
