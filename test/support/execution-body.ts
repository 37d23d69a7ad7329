import fc from 'fast-check';
import { normalizeSpan } from '../../src/domains/conventions/index.ts';
import { checkSpans } from '../../src/domains/ingestion/create-execution/check-spans.ts';
import { encodeExecution } from '../../src/domains/ingestion/create-execution/encode-execution.ts';
import { type ExecutionBody, executionBody } from '../../src/domains/ingestion/create-execution/execution-body.ts';
import { resolveSpans } from '../../src/domains/ingestion/create-execution/resolve-spans.ts';
import type { NormalizedSpan } from '../../src/domains/spans/normalized-span.ts';
import { parseBody } from '../../src/http/validate.ts';
import { oneTurn } from '../../src/lib/pace.ts';
import { spanKinds } from '../../src/lib/span-kind.ts';
import { decodeTraces } from '../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../src/otlp/limits.ts';
import type { Span } from '../../src/otlp/span.ts';

export const aTraceId = '0af7651916cd43dd8448eb211c80319c';
export const nowMs = Date.UTC(2026, 10, 20, 12);

export interface TraveledSpan {
  span: Span;
  normalized: NormalizedSpan;
}

/**
 * Passes a JSON body through the schema, OTLP, and the decoding and normalizing of the worker.
 * Returns the root first.
 */
export async function travel(body: unknown): Promise<[TraveledSpan, ...TraveledSpan[]]> {
  const parsed: ExecutionBody = parseBody(executionBody, JSON.parse(JSON.stringify(body)));
  const traceId = parsed.trace_id ?? aTraceId;
  const resolved = await resolveSpans(await checkSpans(parsed, oneTurn), { traceId, nowMs, rest: oneTurn });
  const decoded = decodeTraces('json', await encodeExecution(traceId, resolved, { rest: oneTurn }), defaultOtlpLimits);
  const byId = new Map(decoded.map((span) => [span.spanId, { span, normalized: normalizeSpan(span) }]));
  const [root, ...others] = resolved.map(({ spanId }) => {
    const found = byId.get(spanId);
    if (found === undefined) throw new Error(`Span ${spanId} was lost`);
    return found;
  });
  if (root === undefined || byId.size !== resolved.length) throw new Error('Spans were lost');
  return [root, ...others];
}

/** JSON values that the service can store: without NUL, lone surrogates and negative zero. */
const plain = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }).map((value) => value.replaceAll('\0', '0'));
/** Texts with quotes, which a reader could remove by mistake. */
const text = fc.oneof(
  { weight: 4, arbitrary: plain },
  plain.map((value) => JSON.stringify(value)),
  fc.constant('"'),
);
/** The service removes the quotes that some clients put around models. */
const unquoted = text.filter((value) => !value.startsWith('"'));
const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)));
const count = fc.nat({ max: 1_000_000 });
const hex = (digits: number) =>
  fc.bigInt({ min: 1n, max: 16n ** BigInt(digits) - 1n }).map((id) => id.toString(16).padStart(digits, '0'));
/** Structures that are not messages, and texts that no reader treats as JSON. */
const content = fc.oneof(
  text.filter((value) => !/^[[{]/.test(value)),
  fc.dictionary(text, json, { minKeys: 1, maxKeys: 4 }).filter((value) => !('role' in value)),
  fc.array(fc.oneof(text, count), { maxLength: 4 }),
);
const entries = fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', '0.role', 'a.b')), json, { maxKeys: 4 });

const usage = fc.tuple(count, count, count, count, count).map(([read, write, fresh, reasoning, answer]) => ({
  input_tokens: read + write + fresh,
  output_tokens: reasoning + answer,
  cache_read_tokens: read,
  cache_write_tokens: write,
  reasoning_tokens: reasoning,
  total_tokens: read + write + fresh + reasoning + answer,
}));

const times = fc
  .tuple(fc.bigInt({ min: 0n, max: 4_102_444_800_000n }), fc.nat({ max: 86_400_000 }), fc.boolean())
  .map(([startMs, durationMs, asDuration]) => ({
    started_at: new Date(Number(startMs)).toISOString(),
    ...(asDuration ? { duration_ms: durationMs } : { ended_at: new Date(Number(startMs) + durationMs).toISOString() }),
  }));

const outcome = fc.oneof(
  fc.constantFrom({}, { status: 'ok' }, { status: 'unset' }, { status: 'error' }),
  fc.record({ error: fc.oneof(text, fc.record({ type: text, message: text }), fc.record({ type: text })) }),
);

const fields = fc
  .tuple(
    fc.record(
      {
        span_id: hex(16),
        prompt: fc.record({ prompt_id: text, prompt_version: fc.integer({ min: 1, max: 2 ** 31 - 1 }) }),
        model: unquoted,
        provider: fc.constantFrom('openai', 'anthropic', 'aws.bedrock', 'my-own'),
        input: content,
        output: content,
        usage,
        cost: fc
          .bigInt({ min: 0n, max: 10n ** 15n })
          .map((nano) => `${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, '0')}`),
        session_id: text,
        user_id: text,
        environment: text,
        tags: fc.uniqueArray(
          text.map((tag) => `t${tag}t`),
          { maxLength: 5 },
        ),
        variables: entries,
        metadata: entries,
      },
      { requiredKeys: [] },
    ),
    times,
    outcome,
  )
  .map(([{ prompt, ...given }, when, how]) => ({ ...given, ...prompt, ...when, ...how }));

const named = fc.record({ name: text, kind: fc.constantFrom(...spanKinds) });
const span = fc.tuple(named, fields, fc.option(hex(16))).map(([name, given, parent]) => ({
  ...name,
  ...given,
  parent_span_id: parent,
}));

/** Any valid execution with all times. */
export const executions = fc
  .tuple(hex(32), named, fields, fc.array(span, { maxLength: 4 }))
  .map(([trace_id, name, given, spans]) => ({ trace_id, ...name, ...given, spans }))
  .filter(({ span_id, spans }) => {
    const ids = [span_id, ...spans.map((each) => each.span_id)].filter((id) => id !== undefined);
    return new Set(ids).size === ids.length;
  });
