export { apiKeysEndpoints } from './api-keys.routes.ts';
