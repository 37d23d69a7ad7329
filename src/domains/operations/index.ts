export { apiDescription, knownFields } from './docs/known-fields.ts';
export { createDocuments, type Documents } from './documents.ts';
export { type OperationsDeps, operationsEndpoints } from './operations.routes.ts';
export type { DependencyName } from './operations.schema.ts';
export type { IngestStats, QueueStats } from './report-latency.ts';
