import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import { newId, type WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Project } from './project.ts';
import { insertProject } from './project-store.ts';

/** Creates a project. Throws NotFoundError for an unknown workspace and ConflictError `name_taken` within one. */
export async function createProject(
  deps: { postgres: Postgres },
  input: { workspaceId: string; name: string },
): Promise<Project> {
  const project: Project = {
    id: newId('prj'),
    workspaceId: input.workspaceId as WorkspaceId,
    name: input.name,
    isDefault: false,
    createdAt: new Date(),
  };
  const outcome = await insertProject(deps.postgres, project);
  if (outcome === 'no_workspace') throw new NotFoundError('workspace_not_found', 'There is no such workspace.');
  if (outcome === 'name_taken') {
    throw new ConflictError('name_taken', `The workspace already has a project named ${JSON.stringify(input.name)}.`);
  }
  return project;
}
