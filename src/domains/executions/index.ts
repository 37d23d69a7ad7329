export type { TokenUsage } from './count-usage.ts';
export { insertExecutions } from './execution-row.ts';
export { executionsEndpoints } from './executions.routes.ts';
export { findLightSpans, type LightSpan } from './light-span.ts';
export { summariseExecution } from './summarise-execution.ts';
