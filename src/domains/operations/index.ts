export { createOperations } from './create-operations.ts';
export { apiDescription, knownFields } from './docs/known-fields.ts';
export type { DependencyName } from './operations.schema.ts';
