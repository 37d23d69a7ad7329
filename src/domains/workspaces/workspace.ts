import type { WorkspaceId } from '../../lib/ids.ts';
import type { PlanOverrides } from './plan-overrides.ts';
import type { PlanName } from './plans.ts';

export type UserId = `usr_${string}`;

export interface Workspace {
  id: WorkspaceId;
  name: string;
  kind: 'personal' | 'organization';
  plan: PlanName;
  overrides: PlanOverrides;
  createdAt: Date;
}

/** What a request needs to know of the workspace it acts in. */
export interface WorkspaceScope {
  id: WorkspaceId;
  plan: PlanName;
  overrides: PlanOverrides;
}
