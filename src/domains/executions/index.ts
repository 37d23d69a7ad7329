export { createExecutions } from './create-executions.ts';
export { findDifferingTraces } from './differing-trace-queries.ts';
export type { Execution } from './execution.ts';
export { insertExecutions } from './execution-row.ts';
export { groupByTrace } from './group-by-trace.ts';
export { summariseExecution } from './summarise-execution.ts';
export {
  groupByRows,
  smallTraceRowsMax,
  summariseSmallTraces,
  summariseStoredTrace,
} from './summarise-stored-traces.ts';
