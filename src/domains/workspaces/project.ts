import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { PlanName } from './plans.ts';

export interface Project {
  id: ProjectId;
  workspaceId: WorkspaceId;
  name: string;
  createdAt: Date;
}

/** What a request needs to know of the project it acts in. */
export interface ProjectScope {
  projectId: ProjectId;
  workspaceId: WorkspaceId;
  plan: PlanName;
}
