import { endOfSpan } from '../../lib/time.ts';
import { knownCost, modelKinds, sumUsage } from './count-usage.ts';
import type { Execution } from './execution.ts';
import type { LightSpan } from './light-span.ts';
import { usesOf } from './prompt-uses.ts';
import { compareStarts } from './tree/build-tree.ts';

/** Receipts are counted from here so that the sum of a trace's receipts stays far below 64 bits. */
const versionEpochMs = Date.UTC(2025, 0, 1);

/** Sums up all spans of one trace (at least one). A pure function of the set: order does not matter. */
export function summariseExecution(projectId: string, spans: readonly LightSpan[]): Execution {
  const ordered = [...spans].sort(compareStarts);
  const head = headOf(ordered);
  const counted = sumUsage(ordered);
  // Who filters by model looks for failures too, which have no usage to count.
  const calls = ordered.filter(({ kind, spanId }) => modelKinds.has(kind) || counted.countedSpanIds.has(spanId));
  const start = ordered[0]?.startUnixNano ?? 0n;
  return {
    projectId,
    traceId: head.traceId,
    version: ordered.reduce((sum, span) => sum + BigInt(Math.max(1, span.receivedAtMs - versionEpochMs)), 0n),
    receivedAtMs: ordered.reduce((latest, span) => Math.max(latest, span.receivedAtMs), 0),
    retentionDays: head.retentionDays,
    startUnixNano: start,
    endUnixNano: latestEnd(ordered, start),
    name: head.name,
    status: head.status,
    complete: head.parentSpanId === '',
    spanCount: ordered.length,
    spansSentOnce: ordered.every((span) => span.sentOnce),
    errorCount: ordered.filter((span) => span.status === 'error').length,
    models: distinct(calls.map((span) => span.model)),
    providers: distinct(calls.map((span) => span.provider)),
    prompts: usesOf(ordered),
    usage: counted.usage,
    costNanoUsd: knownCost(counted),
    unpricedSpans: counted.unpricedSpans,
    sessionId: firstOf(head, ordered, (span) => span.sessionId),
    userId: firstOf(head, ordered, (span) => span.userId),
    environment: firstOf(head, ordered, (span) => span.environment),
    service: firstOf(head, ordered, (span) => span.service),
    tags: distinct(ordered.flatMap((span) => span.tags)),
    inputPreview: firstOf(head, ordered, (span) => span.inputPreview),
    outputPreview: firstOf(head, ordered.toReversed(), (span) => span.outputPreview),
  };
}

/** Parents that are named but have not arrived. */
export function missingParents(spans: readonly LightSpan[]): string[] {
  const present = new Set(spans.map((span) => span.spanId));
  return distinct(spans.map((span) => span.parentSpanId).filter((parent) => !present.has(parent))).sort();
}

/** The span that names the execution: the earliest root, else the earliest whose parent is missing, else the earliest. */
function headOf(ordered: readonly LightSpan[]): LightSpan {
  const present = new Set(ordered.map((span) => span.spanId));
  const head =
    ordered.find((span) => span.parentSpanId === '') ??
    ordered.find((span) => !present.has(span.parentSpanId)) ??
    ordered[0];
  if (head === undefined) throw new Error('An execution has at least one span');
  return head;
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

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '');
}
