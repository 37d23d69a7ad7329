export type { TokenUsage } from './count-usage.ts';
export type { Execution } from './execution.ts';
export { insertExecutions } from './execution-row.ts';
export { executionsEndpoints } from './executions.routes.ts';
export { groupByTrace } from './group-by-trace.ts';
export { type CostSource, findKnownTraces, findLightSpans, type LightSpan } from './light-span.ts';
export { linkPrompts } from './link-prompts.ts';
export { resolveSpanPrompts } from './resolve-prompts.ts';
export { summariseExecution } from './summarise-execution.ts';
