import { modelKinds } from '../../lib/span-kind.ts';
import { durationMs } from '../../lib/time.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { type LightSpan, noUsage, type SpanStatus, type TokenUsage } from '../spans/index.ts';
import type { CountedUsage } from './count-usage.ts';

/** A model call of an execution, or a span that counts in place of its calls. */
export interface ExecutionCall {
  /** '' for an element that stands for several calls. */
  spanId: string;
  /** How many calls the element stands for. */
  calls: number;
  startUnixNano: bigint;
  /** The mean of several calls. */
  durationMs: number;
  /** The mean of several calls; null when it is not known of any. */
  ttftMs: number | null;
  status: SpanStatus;
  provider: string;
  model: string;
  /** Whether usage and cost are part of the sums of the execution. */
  counted: boolean;
  usage: TokenUsage;
  /** Null when the cost is not known. */
  costNanoUsd: bigint | null;
  prompt: Pick<SpanPrompt, 'id' | 'name' | 'version' | 'key'>;
}

/** Failed spans of an execution of one type. */
export interface ExecutionErrors {
  /** '' when the spans name none. */
  type: string;
  spans: number;
}

const errorTypesMax = 16;
const noPrompt = { id: '', name: '', version: 0, key: '' } as const;
const nothing = noUsage();

/** The spans of a trace, and what is known of them. */
interface Known {
  counted: Pick<CountedUsage, 'countedSpanIds' | 'silentSpanIds' | 'repeatedSpanIds'>;
  /** The spans that count as a use of a prompt. */
  prompts: ReadonlyMap<string, SpanPrompt>;
}

/**
 * Returns the calls of a trace, each once. Usage and cost of those that are `counted` add up to the
 * sums of the execution. Nested spans of one call are one call, as in `sumUsage` and `promptCalls`.
 */
export function callsOf(spans: readonly LightSpan[], known: Known): ExecutionCall[] {
  const aboveCalls = new Set(spans.flatMap((span) => (modelKinds.has(span.kind) ? [span.parentSpanId] : [])));
  return spans.filter((span) => isCall(span, known, aboveCalls)).map((span) => callOf(span, known));
}

/** Counts failed spans by type, the most frequent types first. */
export function errorsOf(spans: readonly LightSpan[]): ExecutionErrors[] {
  const counts = new Map<string, number>();
  for (const { status, errorType } of spans)
    if (status === 'error') counts.set(errorType, (counts.get(errorType) ?? 0) + 1);
  return [...counts]
    .map(([type, count]) => ({ type, spans: count }))
    .sort((a, b) => b.spans - a.spans)
    .slice(0, errorTypesMax);
}

function isCall(span: LightSpan, { counted, prompts }: Known, aboveCalls: ReadonlySet<string>): boolean {
  const { spanId, kind, usage } = span;
  if (counted.countedSpanIds.has(spanId) || prompts.has(spanId)) return true;
  if (counted.repeatedSpanIds.has(spanId)) return false;
  if (counted.silentSpanIds.has(spanId)) return true;
  // A failed call can have a cost of 0 and no usage. It adds nothing, but it is a call.
  return modelKinds.has(kind) && usage === null && !aboveCalls.has(spanId);
}

function callOf(span: LightSpan, { counted, prompts }: Known): ExecutionCall {
  return {
    spanId: span.spanId,
    calls: 1,
    startUnixNano: span.startUnixNano,
    durationMs: durationMs(span.startUnixNano, span.endUnixNano),
    ttftMs: span.ttftMs,
    status: span.status,
    provider: span.provider,
    model: span.model,
    counted: counted.countedSpanIds.has(span.spanId),
    usage: span.usage ?? nothing,
    costNanoUsd: span.costNanoUsd,
    prompt: prompts.get(span.spanId) ?? noPrompt,
  };
}
