/** The kinds of spans, independent of the convention that a span follows. */
export const spanKinds = [
  'other',
  'llm',
  'embedding',
  'reranker',
  'agent',
  'chain',
  'tool',
  'retrieval',
  'guardrail',
  'evaluator',
  'db',
  'http',
] as const;

export type SpanKind = (typeof spanKinds)[number];

/** Kinds of spans that are a call of a model. */
export const modelKinds: ReadonlySet<string> = new Set(['llm', 'embedding', 'reranker']);

/**
 * Returns whether a span reports usage or a cost. A cost of 0 without tokens, as of a failed call,
 * adds nothing and must not hide the span above.
 */
export function reportsUsage(span: { usage?: object | null; costNanoUsd?: bigint | null }): boolean {
  return (span.usage ?? null) !== null || (span.costNanoUsd ?? 0n) > 0n;
}
