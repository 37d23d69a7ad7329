import { boundSet } from '../../lib/bound-set.ts';
import { oneTurn, Pace, runInSlices } from '../../lib/pace.ts';
import { modelKinds } from '../../lib/span-kind.ts';
import { compareStarts } from '../../lib/span-tree.ts';
import { endOfSpan } from '../../lib/time.ts';
import { promptCalls, usesOf } from '../prompt-links/index.ts';
import type { LightSpan } from '../spans/index.ts';
import { knownCost, sumUsage } from './count-usage.ts';
import type { SummarizedExecution } from './execution.ts';
import { callsOf, errorsOf } from './execution-calls.ts';
import { mergeCalls } from './merge-calls.ts';

/** The largest cost that its column holds, in nano-USD. A larger cost is stored as this. */
const costNanoUsdMax = 2n ** 63n - 1n;

/** Tags that are compared in one step. */
const tagsAtOnce = 4_000;

/**
 * Summarizes all spans of one trace (at least one). The order of the spans does not matter.
 * `version` is ClickHouse's clock before the spans were read, in nanoseconds; 0 for a summary that
 * is not stored.
 */
export function summarizeExecution(projectId: string, spans: readonly LightSpan[], version = 0n): SummarizedExecution {
  const steps = summarizeInSteps(projectId, spans, version);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Summarizes traces with {@link summarizeExecution}. Other work runs between steps of a few milliseconds. */
export async function summarizeExecutions(
  projectId: string,
  traces: Iterable<readonly LightSpan[]>,
  version: bigint,
  pace = new Pace(oneTurn),
): Promise<SummarizedExecution[]> {
  const executions: SummarizedExecution[] = [];
  for (const spans of traces) executions.push(await runInSlices(summarizeInSteps(projectId, spans, version), pace));
  return executions;
}

/** Does {@link summarizeExecution} in steps. A trace of 2,000 spans can have 128,000 tags. */
export function* summarizeInSteps(
  projectId: string,
  spans: readonly LightSpan[],
  version = 0n,
): Generator<void, SummarizedExecution> {
  yield;
  const ordered = [...spans].sort(compareStarts);
  const head = headOf(ordered);
  const counted = sumUsage(ordered);
  const prompted = promptCalls(ordered);
  // Failed calls have no usage to count, but a filter by model must find them too.
  const calls = ordered.filter(({ kind, spanId }) => modelKinds.has(kind) || counted.countedSpanIds.has(spanId));
  const start = ordered[0]?.startUnixNano ?? 0n;
  const models = boundSet(distinct(calls.map((span) => span.model)), lengthOf);
  const providers = boundSet(distinct(calls.map((span) => span.provider)), lengthOf);
  const prompts = boundSet(usesOf(ordered, prompted), ({ id, name, key }) => id.length + name.length + key.length);
  const tags = boundSet(yield* distinctTags(ordered), lengthOf);
  return {
    projectId,
    traceId: head.traceId,
    version,
    receivedAtMs: ordered.reduce((latest, span) => Math.max(latest, span.receivedAtMs), 0),
    normalizerVersion: ordered.reduce((lowest, span) => Math.min(lowest, span.normalizerVersion), Infinity),
    retentionDays: head.retentionDays,
    startUnixNano: start,
    endUnixNano: latestEnd(ordered, start),
    name: head.name,
    status: head.status,
    complete: head.parentSpanId === '',
    spanCount: ordered.length,
    spansSentOnce: ordered.every((span) => span.sentOnce),
    errorCount: ordered.filter((span) => span.status === 'error').length,
    models: models.kept,
    providers: providers.kept,
    prompts: prompts.kept,
    totalsTruncated: false,
    omitted: { models: models.omitted, providers: providers.omitted, prompts: prompts.omitted, tags: tags.omitted },
    usage: counted.usage,
    costNanoUsd: saturated(knownCost(counted)),
    unpricedSpans: counted.unpricedSpans,
    sessionId: firstOf(head, ordered, (span) => span.sessionId),
    userId: firstOf(head, ordered, (span) => span.userId),
    environment: firstOf(head, ordered, (span) => span.environment),
    service: firstOf(head, ordered, (span) => span.service),
    tags: tags.kept,
    inputPreview: firstOf(head, ordered, (span) => span.inputPreview),
    outputPreview: firstOf(head, ordered.toReversed(), (span) => span.outputPreview),
    calls: mergeCalls(callsOf(ordered, { counted, prompts: prompted })),
    errors: errorsOf(ordered),
  };
}

/** Returns the ids of parents that are named but have not arrived. */
export function missingParents(spans: readonly LightSpan[]): string[] {
  const present = new Set(spans.map((span) => span.spanId));
  return distinct(spans.map((span) => span.parentSpanId).filter((parent) => !present.has(parent))).sort();
}

/**
 * Returns the span that names the execution: the earliest root, else the earliest span whose parent
 * is missing, else the earliest span.
 */
function headOf(ordered: readonly LightSpan[]): LightSpan {
  const present = new Set(ordered.map((span) => span.spanId));
  const head =
    ordered.find((span) => span.parentSpanId === '') ??
    ordered.find((span) => !present.has(span.parentSpanId)) ??
    ordered[0];
  if (head === undefined) throw new Error('An execution has at least one span');
  return head;
}

function saturated(costNanoUsd: bigint | null): bigint | null {
  return costNanoUsd !== null && costNanoUsd > costNanoUsdMax ? costNanoUsdMax : costNanoUsd;
}

function latestEnd(spans: readonly LightSpan[], start: bigint): bigint {
  let end = start;
  for (const span of spans) {
    const spanEnd = endOfSpan(span);
    if (spanEnd > end) end = spanEnd;
  }
  return end;
}

function firstOf(head: LightSpan, ordered: readonly LightSpan[], read: (span: LightSpan) => string): string {
  return read(head) || (ordered.map(read).find((value) => value !== '') ?? '');
}

/** Returns the different tags of the spans, in order. */
function* distinctTags(spans: readonly LightSpan[]): Generator<void, string[]> {
  const found = new Set<string>();
  let left = tagsAtOnce;
  for (const { tags } of spans) {
    for (const tag of tags) if (tag !== '') found.add(tag);
    left -= tags.length;
    if (left > 0) continue;
    yield;
    left = tagsAtOnce;
  }
  return [...found];
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '');
}

function lengthOf(value: string): number {
  return value.length;
}
