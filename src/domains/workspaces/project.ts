import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { PlanOverrides } from './plan-overrides.ts';
import type { PlanName } from './plans.ts';

export interface Project {
  id: ProjectId;
  workspaceId: WorkspaceId;
  name: string;
  /** A workspace has at most one: what a user gets who names no project. */
  isDefault: boolean;
  createdAt: Date;
}

/** What a request needs to know of the project it acts in. */
export interface ProjectScope {
  projectId: ProjectId;
  workspaceId: WorkspaceId;
  plan: PlanName;
  overrides: PlanOverrides;
}
