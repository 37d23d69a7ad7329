export { insertSpans } from './insert-spans.ts';
export { countRows, LargeTraceError, rowsHereMax } from './large-trace.ts';
export { type LightSpan, lightSpanOf } from './light-span.ts';
export { findEarliestLightSpans, findFewLightSpans, findLightSpans, spansPerTraceMax } from './light-span-queries.ts';
export { NORMALIZER_VERSION, type NormalizedSpan, type SpanStatus } from './normalized-span.ts';
export { readLargeTrace } from './read-large-trace.ts';
export { noLogs, type SpanCost, type SpanLogs, type SpanRow, spanTable } from './span-row.ts';
export { noUsage, type TokenUsage, usageParts } from './token-usage.ts';
export { countReceivedSpans, countTraceRows, describeTraceRows, type TraceRows } from './trace-row-queries.ts';
export {
  boundSpans,
  hasSpan,
  ofSpans,
  ofTraces,
  receivedTraces,
  type SpanKey,
  spansPerQuery,
  type TraceKey,
} from './trace-sql.ts';
export { typeAttributes } from './typed-attributes.ts';
