import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainFromKeyValues } from '../../src/domains/executions/any-value-plain.ts';
import { attributesToJson } from '../../src/domains/ingestion/otlp/any-value-json.ts';
import { executions, type TravelledSpan, travel } from '../support/execution-body.ts';

type Sent = Record<string, unknown> & {
  started_at: string;
  usage?: Record<string, number>;
  error?: string | { type?: string; message?: string };
};

const nanoPerUsd = 1_000_000_000n;

/** A travelled span in the words of the body; what was not sent is absent. */
function asBody({ span, normalised }: TravelledSpan): Record<string, unknown> {
  const { usage, promptRef } = normalised;
  const attributes = plainFromKeyValues(JSON.parse(attributesToJson(span.attributes)));
  const below = (prefix: string) =>
    Object.entries(attributes).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    );
  return {
    name: normalised.name,
    kind: normalised.kind,
    model: normalised.model,
    provider: normalised.provider,
    input: contentOf(normalised.input),
    output: contentOf(normalised.output),
    status: normalised.status,
    error: { type: normalised.errorType, message: normalised.errorMessage },
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
    cost: normalised.reportedCostNanoUsd,
    session_id: normalised.sessionId,
    user_id: normalised.userId,
    environment: normalised.environment,
    tags: normalised.tags,
    prompt: [promptRef?.id, promptRef?.version],
    variables: below('gen_ai.prompt.variable.'),
    metadata: below('promptlane.metadata.'),
    warnings: [...span.warnings, ...normalised.warnings],
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

test('an execution that went through OTLP and the normaliser says what was sent, nothing more, nothing less', async () => {
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
