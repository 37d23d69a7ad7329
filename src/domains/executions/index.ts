export type { TokenUsage } from './count-usage.ts';
export type { Execution } from './execution.ts';
export { insertExecutions } from './execution-row.ts';
export { executionsEndpoints } from './executions.routes.ts';
export { groupByTrace } from './group-by-trace.ts';
export { findKnownTraces, findLightSpans, type LightSpan } from './light-span.ts';
export { summariseExecution } from './summarise-execution.ts';
