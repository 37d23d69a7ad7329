export { type ApiKeysDeps, apiKeysEndpoints } from './api-keys.routes.ts';
