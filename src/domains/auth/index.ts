export { projectOf, tenantOf } from './acting.ts';
export { mintApiKey } from './api-key-token.ts';
export { authorize } from './authorize.ts';
export { auditActorOf, callerOf } from './caller-of.ts';
export { createAuthentication } from './create-authentication.ts';
export { limitedWorkspaceOf, type Principal, sharerOf, workspaceOf } from './principal.ts';
export { leastRoleOf } from './roles.ts';
export { isScope, presets, type Scope, scopes } from './scopes.ts';
