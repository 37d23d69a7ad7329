import type { ExecutionField } from './execution-fields.ts';
import type { BoundValue, Operator } from './operators.ts';

/**
 * `values` has one value, or the list of `in` and `nin`. For `exists` it is `[true]` or `[false]`.
 */
export interface Comparison {
  op: Operator;
  values: readonly BoundValue[];
}

/**
 * A condition on executions: a tree whose leaves test a field, an attribute of the spans, words in
 * the spans, prompts, or whether the execution is one of these traces (32 hex digits each). A prompt has
 * a list of the texts by which it may be mentioned, such as its id.
 */
export type Condition =
  | { all: readonly Condition[] }
  | { any: readonly Condition[] }
  | { not: Condition }
  | ({ field: ExecutionField } & Comparison)
  | ({ attribute: string } & Comparison)
  | { words: readonly string[] }
  | { traces: readonly string[] }
  | { prompt: { mentions: readonly (readonly BoundValue[])[]; version?: BoundValue } };

/** Returns whether the condition tests spans and not only executions. */
export function asksSpans(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(asksSpans);
  if ('any' in condition) return condition.any.some(asksSpans);
  if ('not' in condition) return asksSpans(condition.not);
  return 'attribute' in condition || 'words' in condition;
}

/** Returns whether every execution satisfies the condition. */
export function asksNothing(condition: Condition): boolean {
  return 'all' in condition && condition.all.every(asksNothing);
}
