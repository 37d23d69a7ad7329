export { type PlanName, planNamed, plans } from './plans.ts';
export type { Project, ProjectScope } from './project.ts';
export { findProjectScope } from './project-store.ts';
export { workspacesEndpoints } from './workspaces.routes.ts';
