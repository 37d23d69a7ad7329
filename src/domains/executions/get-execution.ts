import { oneTurn, Pace, runInSlices } from '../../lib/pace.ts';
import { linkPrompts, resolveSpanPrompts } from '../prompt-links/index.ts';
import {
  findEarliestLightSpans,
  findFewLightSpans,
  type LightSpan,
  spansPerTraceMax,
  type TraceKey,
} from '../spans/index.ts';
import { findWholeTrace, type WholeTrace } from '../spans/reads.ts';
import { type Execution, missingParents, summarizeInSteps } from '../summaries/index.ts';
import { breakDownCost, costBreakdownToWire } from './cost-breakdown.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import { executionToWire } from './executions.schema.ts';
import type { ExecutionFeedback } from './feedback-of-executions.ts';
import { spanCursor } from './list-spans.ts';
import { readLargeExecution } from './read-large-execution.ts';
import { logsReader, type ShownPart } from './read-logs.ts';
import { largePartReader } from './read-part.ts';
import { readSpanPage, readSpans, type SpanPage, storedSpans } from './read-span-page.ts';
import { resolveExecutionPrompts } from './resolve-execution-prompts.ts';
import type { TraceReadDeps } from './trace-read-deps.ts';

/** Maximum numbers of spans and of missing parents in one answer. */
const spansMax = 10_000;
const missingParentsMax = 1_000;
/**
 * Maximum bytes of spans that are read before their number is known. Parsing this many takes about
 * 20 ms.
 */
const wholeBytesMax = 4 * 1024 * 1024;

/**
 * Returns one execution as JSON text, with its earliest spans or without any.
 * @throws NotFoundError when the trace has no spans
 * @throws UnavailableError while ClickHouse is unavailable
 * @throws LargeTraceError or LargePartError when `deps.large` is false and the trace or a span part
 * is too large
 */
export async function getExecution(
  deps: TraceReadDeps,
  input: {
    projectId: string;
    traceId: string;
    include: ReadonlySet<ShownPart>;
    withSpans: boolean;
    feedback: ExecutionFeedback;
  },
): Promise<string> {
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  const { include, withSpans } = input;
  const readsWhole = withSpans && !deps.large;
  const whole = readsWhole
    ? await findWholeTrace(deps.clickhouse, trace, { include, bytesMax: wholeBytesMax })
    : undefined;
  const stored = whole?.lights ?? (await findLights(deps, trace));
  if (stored.length === 0) throw unknownExecution();
  const pace = new Pace(oneTurn);
  const lights = await resolveSpanPrompts(deps.knownPrompts, trace.projectId, stored);
  await pace.rest();
  const execution = await summaryOf(deps, trace, { lights, pace });
  await pace.rest();
  const costBreakdown = costBreakdownToWire(execution, breakDownCost(lights));
  await pace.rest();
  const head = {
    ...executionToWire(execution, input.feedback.score),
    project_id: trace.projectId,
    cost_breakdown: costBreakdown,
    missing_parents: missingParents(lights).slice(0, missingParentsMax),
    feedback: input.feedback.items,
  };
  const { spans, last } = withSpans ? await firstSpans(deps, trace, include, { lights, whole }) : none;
  const tail = {
    truncated: last !== undefined,
    spans_truncated: last !== undefined,
    spans_next_cursor: last === undefined ? null : spanCursor(deps.cursorSecret, trace, last),
  };
  return `${JSON.stringify(head).slice(0, -1)},"spans":[${spans.join()}],${JSON.stringify(tail).slice(1)}`;
}

/**
 * Summarizes the current spans. When the trace has more spans than are read, returns the stored
 * summary instead.
 */
async function summaryOf(
  deps: TraceReadDeps,
  trace: TraceKey,
  { lights, pace }: { lights: readonly LightSpan[]; pace: Pace },
): Promise<Execution> {
  if (lights.length < spansPerTraceMax) return runInSlices(summarizeInSteps(trace.projectId, lights), pace);
  const large = await readLargeExecution(deps.clickhouse, trace.projectId, trace.traceId);
  if (large === undefined) throw unknownExecution();
  const [resolved = large] = await resolveExecutionPrompts(deps.knownPrompts, trace.projectId, [large]);
  return resolved;
}

const none: SpanPage = { spans: [], last: undefined };

function findLights({ clickhouse, large }: TraceReadDeps, trace: TraceKey): Promise<LightSpan[]> {
  return large ? findEarliestLightSpans(clickhouse, trace) : findFewLightSpans(clickhouse, trace);
}

/** Reads the first page of spans; uses `whole` when the whole trace has been read already. */
async function firstSpans(
  deps: TraceReadDeps,
  trace: TraceKey,
  include: ReadonlySet<ShownPart>,
  { lights, whole }: { lights: readonly LightSpan[]; whole: WholeTrace | undefined },
): Promise<SpanPage> {
  const links = linkPrompts(lights);
  const source = whole
    ? readSpans(whole.rows)
    : await storedSpans(deps, { trace, after: undefined, limit: spansMax, include });
  return readSpanPage(source, {
    ...{ limit: spansMax, include },
    promptOf: (row) => links.get(row.spanId) ?? row.prompt,
    large: deps.large,
    readPart: largePartReader(deps, trace),
    readLogs: logsReader(deps, trace),
  });
}
