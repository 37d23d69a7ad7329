import type { ExecutionField } from './execution-fields.ts';
import type { BoundValue, Operator } from './operators.ts';

/** `values` has one value, or those of `in` and `nin`; for `exists` it is `[true]` or `[false]`. */
export interface Comparison {
  op: Operator;
  values: readonly BoundValue[];
}

/** What an execution has to be: a tree whose leaves ask about a column, an attribute of its spans or words in them. */
export type Condition =
  | { all: readonly Condition[] }
  | { any: readonly Condition[] }
  | { not: Condition }
  | ({ field: ExecutionField } & Comparison)
  | ({ attribute: string } & Comparison)
  | { words: readonly string[] }
  | { prompt: { ids: readonly BoundValue[]; version: BoundValue } };

/** Whether the condition looks into spans, and not at executions alone. */
export function asksSpans(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(asksSpans);
  if ('any' in condition) return condition.any.some(asksSpans);
  if ('not' in condition) return asksSpans(condition.not);
  return 'attribute' in condition || 'words' in condition;
}

/** Whether every execution satisfies the condition. */
export function asksNothing(condition: Condition): boolean {
  return 'all' in condition && condition.all.every(asksNothing);
}
