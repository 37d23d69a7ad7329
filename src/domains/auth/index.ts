export { actorOf, projectOf, tenantOf } from './acting.ts';
export { ApiKeyCache } from './api-key-cache.ts';
export { findApiKeyRecord } from './api-key-record-store.ts';
export { describeApiKey, type MintedKey, mintApiKey } from './api-key-token.ts';
export { type AuthoriseDeps, authorise } from './authorise.ts';
export { type Principal, type UserPrincipal, workspaceOf } from './principal.ts';
export { leastRoleOf } from './roles.ts';
export { type Preset, presets, type Scope, scopes } from './scopes.ts';
