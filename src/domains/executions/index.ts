export type { TokenUsage } from './count-usage.ts';
export type { Execution } from './execution.ts';
export { insertExecutions } from './execution-row.ts';
export { executionsEndpoints } from './executions.routes.ts';
export { findKnownTraces, findLightSpans, type LightSpan } from './light-span.ts';
export { type SpanKind, spanKinds } from './span-kind.ts';
export { summariseExecution } from './summarise-execution.ts';
