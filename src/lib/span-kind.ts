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
