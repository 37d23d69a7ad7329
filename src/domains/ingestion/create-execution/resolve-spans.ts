import { createHash } from 'node:crypto';
import { type Fault, InvalidError } from '../../../lib/errors.ts';
import { mapInSlices, type Rest } from '../../../lib/pace.ts';
import type { SpanKind } from '../../../lib/span-kind.ts';
import { unixNanoFromDate } from '../../../lib/time.ts';
import type { CheckedExecution } from './check-spans.ts';
import type { SpanBody } from './execution-body.ts';
import { areWithin64Bits, lastTime, resolveTimes, type Times } from './resolve-times.ts';

/** A span of a posted execution, with all defaults filled in. */
export interface ResolvedSpan extends Times {
  spanId: string;
  /** '' for the root. */
  parentSpanId: string;
  name: string;
  kind: SpanKind;
  environment: string;
  /** The fields as sent. */
  fields: Omit<SpanBody, 'name' | 'kind'>;
}

const modelKinds: ReadonlySet<SpanKind> = new Set(['llm', 'embedding', 'reranker']);

/**
 * Fills in all defaults. Returns the execution itself first, then its spans.
 * @throws InvalidError when two spans have the same id, or a span ends after 2554
 */
export async function resolveSpans(
  body: CheckedExecution,
  { traceId, nowMs, rest }: { traceId: string; nowMs: number; rest: Rest },
): Promise<ResolvedSpan[]> {
  const { trace_id: _, spans, name, kind, ...fields } = body;
  const derivedId = idsOf(traceId);
  const root: ResolvedSpan = {
    spanId: fields.span_id ?? derivedId(0),
    parentSpanId: '',
    name: name ?? 'execution',
    kind: kind ?? defaultKind(body),
    environment: fields.environment ?? '',
    ...resolveTimes(fields, unixNanoFromDate(new Date(nowMs))),
    fields,
  };
  const children = await mapInSlices(spans, (span, index) => resolveChild(span, root, derivedId(index + 1)), rest);
  const resolved = [root, ...children];
  refuse(timeFaults(resolved));
  refuse(duplicates(resolved));
  return resolved;
}

function resolveChild(span: SpanBody, root: ResolvedSpan, derivedId: string): ResolvedSpan {
  return {
    spanId: span.span_id ?? derivedId,
    parentSpanId: span.parent_span_id ?? root.spanId,
    name: span.name,
    kind: span.kind,
    environment: span.environment ?? root.environment,
    ...resolveTimes(span, root),
    fields: span,
  };
}

/**
 * Returns the default kind of the root. The usage of a model call is counted on its own, so a root
 * that repeats the sum of its calls must not be a model call.
 */
function defaultKind({ model, spans }: CheckedExecution): SpanKind {
  const hasModel = model !== undefined && model !== null;
  if (hasModel && !spans.some((span) => modelKinds.has(span.kind))) return 'llm';
  return spans.length > 0 ? 'chain' : 'other';
}

/**
 * Derives the same span id for the same position in the same trace, so that a repeated post
 * replaces the spans. An id is the SHA-256 of the trace id, cut to 61 bits, plus the position. A
 * higher bit is set, so that the id is never zero and never overflows.
 */
function idsOf(traceId: string): (place: number) => string {
  const hash = createHash('sha256').update(traceId).digest().readBigUInt64BE();
  const first = 2n ** 62n + BigInt.asUintN(61, hash);
  return (place) => (first + BigInt(place)).toString(16).padStart(16, '0');
}

/**
 * Returns a fault for each duration that leads beyond 64 bits; each given time fits already. A span
 * that inherits such a time gets no fault of its own.
 */
function timeFaults(spans: readonly ResolvedSpan[]): Fault[] {
  return spans.flatMap(({ fields: { duration_ms: durationMs }, ...times }, index) => {
    if (durationMs === undefined || durationMs === null || areWithin64Bits(times)) return [];
    const message = `leads to a time outside the range 1970-01-01T00:00:00Z to ${lastTime}: ${durationMs} ms`;
    return [{ path: pathOf(index, 'duration_ms'), code: 'too_big', message }];
  });
}

function duplicates(spans: readonly ResolvedSpan[]): Fault[] {
  const seen = new Set<string>();
  return spans.flatMap(({ spanId }, index) => {
    const isNew = !seen.has(spanId);
    seen.add(spanId);
    if (isNew) return [];
    const message = `${spanId} is also the id of an earlier span in this body`;
    return [{ path: pathOf(index, 'span_id'), code: 'duplicate', message }];
  });
}

function pathOf(index: number, field: string): string {
  return index === 0 ? field : `spans[${index - 1}].${field}`;
}

function refuse(errors: readonly Fault[]): void {
  const [first] = errors;
  if (first === undefined) return;
  throw new InvalidError('invalid_body', `${first.path}: ${first.message}`, { errors: errors.slice(0, faultsMax) });
}

const faultsMax = 50;
