import { pauseBetweenSlices } from '../../lib/map-in-slices.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { breakDownCost, costBreakdownToWire } from './cost-breakdown.ts';
import type { Execution } from './execution.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import { executionToWire } from './executions.schema.ts';
import { ownPrompt } from './find-prompt-links.ts';
import { findLightSpans, type LightSpan, spansPerTraceMax } from './light-span.ts';
import { linkPrompts } from './link-prompts.ts';
import { spanCursor } from './list-spans.ts';
import { largePartReader } from './read-part.ts';
import { readSpanPage, type SpanPage } from './read-span-page.ts';
import { resolveExecutionPrompts, resolveSpanPrompts } from './resolve-prompts.ts';
import type { SpanPart, TraceKey } from './span-queries.ts';
import { missingParents, summariseExecution } from './summarise-execution.ts';
import { readLargeExecution } from './summarise-stored-traces.ts';
import type { TraceReadDeps } from './trace-reads.ts';

/** As many spans, and as many missing parents, as one answer gives out. */
const spansMax = 10_000;
const missingParentsMax = 1_000;

/**
 * One execution with its earliest spans, or without any. Throws NotFoundError, UnavailableError while the trace store is unavailable,
 * and LargePartError where large parts may not be read.
 */
export async function getExecution(
  deps: TraceReadDeps,
  input: { projectId: string; traceId: string; include: ReadonlySet<SpanPart>; withSpans: boolean },
): Promise<string> {
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  const stored = await runClickHouse(() => findLightSpans(deps.clickhouse, trace.projectId, [trace.traceId]));
  if (stored.length === 0) throw unknownExecution();
  const pause = pauseBetweenSlices();
  const lights = await resolveSpanPrompts(deps.knownPrompts, trace.projectId, stored);
  await pause();
  const execution = await summaryOf(deps, trace, lights);
  await pause();
  const costBreakdown = costBreakdownToWire(execution, breakDownCost(lights));
  await pause();
  const head = {
    ...executionToWire(execution),
    project_id: trace.projectId,
    cost_breakdown: costBreakdown,
    missing_parents: missingParents(lights).slice(0, missingParentsMax),
    feedback: [],
  };
  const { spans, last } = input.withSpans ? await firstSpans(deps, trace, input.include, lights) : none;
  const tail = {
    truncated: last !== undefined,
    spans_truncated: last !== undefined,
    spans_next_cursor: last === undefined ? null : spanCursor(deps.cursorSecret, trace, last),
  };
  return `${JSON.stringify(head).slice(0, -1)},"spans":[${spans.join()}],${JSON.stringify(tail).slice(1)}`;
}

/** Of its spans as they are now; of more than are read, as it is listed. */
async function summaryOf(deps: TraceReadDeps, trace: TraceKey, lights: readonly LightSpan[]): Promise<Execution> {
  if (lights.length < spansPerTraceMax) return summariseExecution(trace.projectId, lights);
  const large = await readLargeExecution(deps.clickhouse, trace.projectId, trace.traceId);
  if (large === undefined) throw unknownExecution();
  const [resolved = large] = await resolveExecutionPrompts(deps.knownPrompts, trace.projectId, [large]);
  return resolved;
}

const none: SpanPage = { spans: [], last: undefined };

function firstSpans(
  deps: TraceReadDeps,
  trace: TraceKey,
  include: ReadonlySet<SpanPart>,
  lights: readonly LightSpan[],
): Promise<SpanPage> {
  const links = linkPrompts(lights);
  return readSpanPage(deps.clickhouse, {
    ...{ trace, include, after: undefined, limit: spansMax },
    promptOf: (row) => links.get(row.id) ?? ownPrompt(row),
    readPart: largePartReader(deps, trace),
  });
}
