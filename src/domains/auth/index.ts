export { describeApiKey, type MintedKey, mintApiKey } from './api-key-token.ts';
export type { AuthenticateDeps } from './authenticate.ts';
export { authorise } from './authorise.ts';
export { type Principal, type UserPrincipal, workspaceOf } from './principal.ts';
export { leastRoleOf } from './roles.ts';
export { isScope, type Preset, presets, type Scope, scopes } from './scopes.ts';
export { createTenancy, type Tenancy } from './tenancy.ts';
export { createTokenVerifier } from './token/token-verifier.ts';
