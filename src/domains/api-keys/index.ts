export { type ApiKeysDeps, apiKeysEndpoints } from './api-keys.routes.ts';
export { KeyUses } from './key-uses.ts';
