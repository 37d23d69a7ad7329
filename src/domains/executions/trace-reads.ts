import { countRows, LargeTraceError, rowsHereMax } from '../spans/index.ts';
import { checkedTraceId } from './execution-not-found.ts';
import { getExecution } from './get-execution.ts';
import { getHierarchy } from './get-hierarchy.ts';
import { getSpan } from './get-span.ts';
import { getSpanPart } from './get-span-part.ts';
import { getTimeline } from './get-timeline.ts';
import { listSpans } from './list-spans.ts';
import type { TraceReadDeps } from './trace-read-deps.ts';

const reads = {
  getExecution,
  listSpans: ofFewRows(listSpans),
  getSpan: ofFewRows(getSpan),
  getSpanPart: ofFewRows(getSpanPart),
  getHierarchy: async (deps: TraceReadDeps, input: Parameters<typeof getHierarchy>[1]) =>
    JSON.stringify(await getHierarchy(deps, input)),
  getTimeline: async (deps: TraceReadDeps, input: Parameters<typeof getTimeline>[1]) =>
    JSON.stringify(await getTimeline(deps, input)),
} as const;

export type TraceReadName = keyof typeof reads;
export type TraceReadInput<Name extends TraceReadName> = Parameters<(typeof reads)[Name]>[1];

/**
 * All reads of one trace by operation. Each returns JSON text and throws NotFoundError or
 * UnavailableError.
 */
export const traceReads: {
  readonly [Name in TraceReadName]: (deps: TraceReadDeps, input: TraceReadInput<Name>) => Promise<string>;
} = reads;

/**
 * Wraps a read for which ClickHouse scans all rows of a trace, even if it returns few. Counts the
 * rows first; the other reads check what they read themselves.
 */
function ofFewRows<Input extends { projectId: string; traceId: string }>(
  read: (deps: TraceReadDeps, input: Input) => Promise<string>,
): typeof read {
  return async (deps, input) => {
    const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
    if (!deps.large && (await countRows(deps.clickhouse, trace)) > rowsHereMax) throw new LargeTraceError();
    return read(deps, input);
  };
}
