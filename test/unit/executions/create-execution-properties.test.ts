import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainFromKeyValues } from '../../../src/domains/executions/any-value-plain.ts';
import { executionLimits } from '../../../src/domains/ingestion/create-execution/limits.ts';
import { AppError } from '../../../src/lib/errors.ts';
import { spanKinds } from '../../../src/lib/span-kind.ts';
import { attributesToJson } from '../../../src/otlp/any-value-json.ts';
import { executions, type TraveledSpan, travel } from '../../support/execution-body.ts';

type Sent = Record<string, unknown> & {
  started_at: string;
  usage?: Record<string, number>;
  error?: string | { type?: string; message?: string };
};

const nanoPerUsd = 1_000_000_000n;

/** A traveled span in the words of the body; what was not sent is absent. */
function asBody({ span, normalized }: TraveledSpan): Record<string, unknown> {
  const { usage, promptRef } = normalized;
  const attributes = plainFromKeyValues(JSON.parse(attributesToJson(span.attributes)));
  const below = (prefix: string) =>
    Object.entries(attributes).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    );
  return {
    name: normalized.name,
    kind: normalized.kind,
    model: normalized.model,
    provider: normalized.provider,
    input: contentOf(normalized.input),
    output: contentOf(normalized.output),
    status: normalized.status,
    error: { type: normalized.errorType, message: normalized.errorMessage },
    start: span.startUnixNano,
    end: span.endUnixNano,
    usage: usage && {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      reasoning_tokens: usage.reasoningTokens,
      total_tokens: usage.totalTokens,
    },
    cost: normalized.reportedCostNanoUsd,
    session_id: normalized.sessionId,
    user_id: normalized.userId,
    environment: normalized.environment,
    tags: normalized.tags,
    prompt: [promptRef?.id, promptRef?.version],
    variables: below('gen_ai.prompt.variable.'),
    metadata: below('promptlane.metadata.'),
    warnings: [...span.warnings, ...normalized.warnings],
  };
}

function expected(sent: Sent, environment: unknown): Record<string, unknown> {
  const { error } = sent;
  const start = BigInt(Date.parse(sent.started_at)) * 1_000_000n;
  return {
    name: sent.name,
    kind: sent.kind,
    model: sent.model ?? '',
    provider: sent.provider ?? '',
    input: sent.input ?? null,
    output: sent.output ?? null,
    status: sent.status ?? (error === undefined ? 'ok' : 'error'),
    error:
      typeof error === 'string'
        ? { type: '', message: error }
        : { type: error?.type ?? '', message: error?.message ?? '' },
    start,
    end:
      sent.ended_at === undefined
        ? start + BigInt(Number(sent.duration_ms)) * 1_000_000n
        : BigInt(Date.parse(String(sent.ended_at))) * 1_000_000n,
    usage: sent.usage ?? null,
    cost: sent.cost === undefined ? null : nanoOf(String(sent.cost)),
    session_id: sent.session_id ?? '',
    user_id: sent.user_id ?? '',
    environment,
    tags: sent.tags ?? [],
    prompt: [sent.prompt_id, sent.prompt_version],
    variables: Object.entries(sent.variables ?? {}),
    metadata: Object.entries(sent.metadata ?? {}),
    warnings: sent.started_at === '1970-01-01T00:00:00.000Z' ? ['zero_start_time'] : [],
  };
}

function nanoOf(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  return BigInt(whole) * nanoPerUsd + BigInt(fraction.padEnd(9, '0'));
}

/** As the API reads it out. */
function contentOf(text: string): unknown {
  if (text === '') return null;
  return /^[[{]/.test(text) ? JSON.parse(text) : text;
}

test('an execution that went through OTLP and the normalizer says what was sent, nothing more, nothing less', async () => {
  await fc.assert(
    fc.asyncProperty(executions, async (body) => {
      const [root, ...others] = await travel(body);
      const { spans, ...top } = JSON.parse(JSON.stringify(body));
      const rootEnvironment = top.environment ?? '';
      expect(asBody(root)).toEqual(expected(top, rootEnvironment));
      expect(root.span.parentSpanId).toBe('');
      expect(others.length).toBe(spans.length);
      for (const [index, other] of others.entries()) {
        const sent = spans[index];
        expect(asBody(other)).toEqual(expected(sent, sent.environment ?? rootEnvironment));
        expect(other.span.parentSpanId).toBe(sent.parent_span_id ?? root.span.spanId);
        expect(other.span.traceId).toBe(body.trace_id);
        if (sent.span_id !== undefined) expect(other.span.spanId).toBe(sent.span_id);
      }
    }),
    { numRuns: 200 },
  );
}, 60_000);

const lastNano = 2n ** 64n - 1n;
/** Anywhere, and often at an edge of what 64 bits of nanoseconds hold. */
const nanos = fc.oneof(
  fc.bigInt({ min: 0n, max: lastNano }),
  fc.bigInt({ min: 0n, max: 10_000_000_000n }),
  fc.bigInt({ min: lastNano - 10_000_000_000n, max: lastNano }),
);
const isoNano = nanos.map((nano) => {
  const second = new Date(Number(nano / 1_000_000_000n) * 1_000).toISOString().slice(0, 19);
  return `${second}.${String(nano % 1_000_000_000n).padStart(9, '0')}Z`;
});
const durationMs = fc.oneof(fc.double({ min: 0, max: executionLimits.durationMsMax, noNaN: true }), fc.constant(1e-6));
/** Any of the times given or not. */
const anyTimes = fc.oneof(
  fc.record({ started_at: isoNano, duration_ms: durationMs }, { requiredKeys: [] }),
  fc.record({ ended_at: isoNano }),
  fc.tuple(isoNano, isoNano).map((pair) => {
    const [started_at, ended_at] = pair.sort();
    return { started_at, ended_at };
  }),
);
const oddText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.constantFrom('[{', '{"role":"user"}', '\\u0000'),
);
const oddEntries = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.jsonValue(), fc.constant(-0)), {
  maxKeys: 3,
});
const odd = fc.record(
  {
    model: oddText,
    input: fc.oneof(oddText, fc.jsonValue()),
    metadata: oddEntries,
    variables: oddEntries,
    environment: oddText,
  },
  { requiredKeys: [] },
);
const oddSpan = fc
  .tuple(fc.record({ name: oddText, kind: fc.constantFrom(...spanKinds) }), anyTimes, odd)
  .map(([named, times, given]) => ({ ...named, ...times, ...given }));
const oddExecution = fc
  .tuple(anyTimes, odd, fc.array(oddSpan, { maxLength: 3 }))
  .map(([times, given, spans]) => ({ ...times, ...given, spans }));

test('an execution with any times is refused with its faults, or decodes to exactly its spans', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(oddExecution, async (body) => {
      try {
        const traveled = await travel(body); // It throws when a span is lost.
        expect(traveled.length).toBe(body.spans.length + 1);
        taken++;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        expect([error.kind, error.errors?.every(({ path }) => path !== '')]).toEqual(['invalid', true]);
      }
    }),
    { numRuns: 1_000 },
  );
  expect(taken).toBeGreaterThan(100);
}, 60_000);
