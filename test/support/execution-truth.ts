import type { SpanWire } from '../../src/domains/executions/span.schema.ts';
import type { ExpectedTrace } from './captures.ts';
import type { ExecutionDetailWire } from './traces.ts';

/** Converts a response of the API to the form of the manifest of the captures. */
export function manifestOf(execution: ExecutionDetailWire): ExpectedTrace {
  const { spans } = execution;
  const missing = new Set(execution.missing_parents);
  const reported = countingSpans(spans).filter(({ cost_source }) => cost_source === 'reported');
  return {
    spans: spans.length,
    roots: distinct(spans.filter(({ parent_span_id }) => parent_span_id === null).map(({ span_name }) => span_name)),
    orphans: distinct(
      spans.filter(({ parent_span_id: parent }) => parent !== null && missing.has(parent)).map((s) => s.span_name),
    ),
    kinds: histogram(spans.map(({ kind }) => kind)),
    errors: spans.filter(({ status }) => status === 'error').length,
    tokens: { in: execution.usage.input_tokens, out: execution.usage.output_tokens },
    models: distinct(spans.map(({ model }) => model)),
    providers: distinct(spans.map(({ provider }) => provider)),
    session: distinct(spans.map(({ session_id }) => session_id)),
    user: distinct(spans.map(({ user_id }) => user_id)),
    tags: distinct(spans.map(({ tags }) => tags.join('|'))),
    prompt: distinct(
      spans.map(({ prompt_ref: ref }) => ref && ref.source !== 'inherited' && `${ref.name ?? '?'}@${ref.raw}`),
    ),
    ttft: spans.filter(({ ttft_ms }) => ttft_ms !== null).length,
    llm_with_io: spans.filter(({ kind, input, output }) => kind === 'llm' && input !== null && output !== null).length,
    ...(reported.length > 0 && { cost: Number(nanoUsd(reported)) / 1e9 }),
  };
}

/**
 * Computes the expected summary of spans independently of the product. The spans have the order of the API: by
 * start.
 */
export function summaryOf({ spans, missing_parents }: ExecutionDetailWire) {
  const counting = countingSpans(spans);
  const calls = spans.filter((span) => modelKinds.includes(span.kind) || counting.includes(span));
  const priced = counting.filter(({ cost }) => cost !== null);
  const roots = spans.filter(({ parent_span_id }) => parent_span_id === null);
  const head = roots[0] ?? spans.find(({ parent_span_id: parent }) => missing_parents.includes(parent ?? ''));
  const unpriced = counting.filter(({ cost }) => cost === null).length;
  return {
    name: head?.name,
    status: head?.status,
    complete: roots.length > 0,
    span_count: spans.length,
    error_count: spans.filter(({ status }) => status === 'error').length,
    usage: Object.fromEntries(usageParts.map((part) => [part, sum(counting.map(({ usage }) => usage?.[part] ?? 0))])),
    models: distinct(calls.map(({ model }) => model)),
    providers: distinct(calls.map(({ provider }) => provider)),
    cost_nano_usd: priced.length === 0 && unpriced > 0 ? null : nanoUsd(priced),
    unpriced_spans: unpriced,
    session_id: [head, ...spans].find((span) => span?.session_id)?.session_id ?? null,
    user_id: [head, ...spans].find((span) => span?.user_id)?.user_id ?? null,
    environment: [head, ...spans].find((span) => span?.environment)?.environment ?? null,
    service: [head, ...spans].find((span) => span?.service)?.service ?? null,
    tags: distinct(spans.flatMap(({ tags }) => tags)),
    prompts: distinct(
      spans.map(({ prompt_ref: ref }) => ref && (ref.id || ref.name) && `${ref.id}/${ref.name}@${ref.version}`),
    ),
  };
}

/** Returns the same values from the execution. */
export function statedBy(execution: ExecutionDetailWire): ReturnType<typeof summaryOf> {
  const { name, status, complete, span_count, error_count, unpriced_spans } = execution;
  const { session_id, user_id, environment, service } = execution;
  return {
    ...{ name, status, complete, span_count, error_count, unpriced_spans, session_id, user_id, environment, service },
    usage: { ...execution.usage },
    models: execution.models.toSorted(),
    providers: execution.providers.toSorted(),
    cost_nano_usd: execution.cost === null ? null : nanoUsd([execution]),
    tags: execution.tags.toSorted(),
    prompts: distinct(execution.prompts.map((ref) => `${ref.prompt_id}/${ref.name}@${ref.prompt_version}`)),
  };
}

/**
 * Returns the model calls that report usage, other spans that report usage if no span below them
 * counts, and the innermost model calls without usage and cost, if no span above them counts.
 */
export function countingSpans(spans: readonly SpanWire[]): SpanWire[] {
  const children = (parent: SpanWire) => spans.filter(({ parent_span_id }) => parent_span_id === parent.span_id);
  const countsBelow = (span: SpanWire): boolean => children(span).some((child) => counts(child) || countsBelow(child));
  const counts = (span: SpanWire): boolean => span.usage !== null && (span.kind === 'llm' || !countsBelow(span));
  const isAbove = (parent: SpanWire, below: SpanWire): boolean =>
    children(parent).some((child) => child === below || isAbove(child, below));
  const isSilent = (span: SpanWire): boolean =>
    modelKinds.includes(span.kind) && span.usage === null && span.cost === null && !countsBelow(span);
  const isUnpriced = (span: SpanWire): boolean =>
    isSilent(span) &&
    !spans.some((other) => (counts(other) && isAbove(other, span)) || (isSilent(other) && isAbove(span, other)));
  return spans.filter((span) => counts(span) || isUnpriced(span));
}

export function distinct(values: readonly (string | null | undefined | false)[]): string[] {
  return [...new Set(values)].filter((value): value is string => Boolean(value)).toSorted();
}

const modelKinds = ['llm', 'embedding', 'reranker'];

const usageParts = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'total_tokens',
] as const;

function nanoUsd(priced: readonly { cost: string | null }[]): bigint {
  return BigInt(sum(priced.map(({ cost }) => Math.round(Number(cost) * 1e9))));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function histogram(values: readonly string[]): Record<string, number> {
  return Object.fromEntries(values.map((value) => [value, values.filter((other) => other === value).length]));
}
