import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { PlanOverrides } from './plan-overrides.ts';
import type { PlanName } from './plans.ts';

export interface Workspace {
  id: WorkspaceId;
  name: string;
  kind: 'personal' | 'organization';
  plan: PlanName;
  overrides: PlanOverrides;
  createdAt: Date;
}

export interface Member {
  userId: UserId;
  email: string | null;
  name: string | null;
  role: Role;
  since: Date;
}

/** What a request needs to know about the workspace it acts in. */
export interface WorkspaceScope {
  id: WorkspaceId;
  plan: PlanName;
  overrides: PlanOverrides;
}

/** Roles of a member in a workspace. Each includes the rights of those before it. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const;

export type Role = (typeof roles)[number];

/** Returns whether `role` includes the rights of `least`. */
export function roleSuffices(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}
