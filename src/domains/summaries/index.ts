export {
  addSpan,
  addTotal,
  type CountableSpan,
  knownCost,
  nothingUsed,
  sumUsage,
  type UsageTotal,
} from './count-usage.ts';
export type { Execution, SummarizedExecution } from './execution.ts';
export { encodeExecutions, insertEncoded, insertExecutions } from './execution-row.ts';
export { readSummary } from './execution-summary.ts';
export { groupByRows, groupByTrace } from './group-traces.ts';
export { findOutdatedExecutions } from './outdated-execution-queries.ts';
export { missingParents, summarizeExecution, summarizeExecutions, summarizeInSteps } from './summarize-execution.ts';
export { summarizeLargeTrace } from './summarize-large-trace.ts';
export { smallTraceRowsMax, summarizeSmallTraces, summarizeStoredTrace } from './summarize-stored-traces.ts';
