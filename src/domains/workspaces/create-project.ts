import { ConflictError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import { unknownWorkspace } from './errors.ts';
import type { Project } from './project.ts';
import { countProjects, insertProject } from './project-store.ts';
import { lockWorkspace } from './workspace-store.ts';

/** Projects of one workspace. */
const projectsMax = 1_000;

/**
 * Creates a project.
 * @throws NotFoundError for an unknown workspace
 * @throws ConflictError `name_taken` when the workspace has a project of that name, `too_many_projects`
 */
export async function createProject(
  deps: { postgres: Postgres },
  input: { workspaceId: string; name: string; actor: AuditActor },
): Promise<Project> {
  return inTransaction(deps.postgres, async (transaction) => {
    const workspace = await lockWorkspace(transaction, input.workspaceId);
    if (workspace === undefined) throw unknownWorkspace();
    if ((await countProjects(transaction, workspace.id)) >= projectsMax) {
      const detail = `The workspace has ${projectsMax} projects, which is the limit.`;
      throw new ConflictError('too_many_projects', detail, { extra: { limit: projectsMax } });
    }
    const project: Project = {
      id: newId('prj'),
      workspaceId: workspace.id,
      name: input.name,
      isDefault: false,
      createdAt: new Date(),
    };
    if (!(await insertProject(transaction, project))) {
      throw new ConflictError('name_taken', `The workspace already has a project named ${JSON.stringify(input.name)}.`);
    }
    await recordAudit(transaction, {
      workspaceId: workspace.id,
      projectId: project.id,
      actor: input.actor,
      action: 'project.created',
      targetType: 'project',
      targetId: project.id,
      details: { name: project.name },
    });
    return project;
  });
}
