import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { PlanOverrides } from './plan-overrides.ts';
import type { PlanName } from './plans.ts';

export interface Project {
  id: ProjectId;
  workspaceId: WorkspaceId;
  name: string;
  /** A workspace has at most one default project. It is used when a user names no project. */
  isDefault: boolean;
  createdAt: Date;
}

/** What a request needs to know about the project it acts in. */
export interface ProjectScope {
  projectId: ProjectId;
  workspaceId: WorkspaceId;
  plan: PlanName;
  overrides: PlanOverrides;
}
