export type { Caller } from './caller.ts';
export { planOverridesFrom } from './plan-overrides.ts';
export {
  limitsOf,
  type PlanLimits,
  type PlanName,
  planNamed,
  plans,
  type QuotaName,
  quotaNames,
  type RateLimitName,
  rateLimitNames,
} from './plans.ts';
export type { Project, ProjectScope } from './project.ts';
export { findDefaultProjectId, findProjectScope, findProjectWorkspaces, listProjects } from './project-store.ts';
export type { WorkspaceScope } from './workspace.ts';
export { type Role, roleSuffices, roles } from './workspace.ts';
export { findWorkspace, findWorkspaces } from './workspace-store.ts';
