export { type PlanOverrides, planOverridesFrom, planOverridesSchema } from './plan-overrides.ts';
export { type PlanName, planNamed, plans } from './plans.ts';
export type { Project, ProjectScope } from './project.ts';
export { findProjectScope } from './project-store.ts';
export { type Role, roleSuffices, roles } from './role.ts';
export type { UserId, Workspace, WorkspaceScope } from './workspace.ts';
export { workspacesEndpoints } from './workspaces.routes.ts';
