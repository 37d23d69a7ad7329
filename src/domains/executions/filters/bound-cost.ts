import { MalformedError } from '../../../lib/errors.ts';
import type { Condition } from './condition.ts';
import { executionFields } from './execution-fields.ts';
import { isOfFeedback } from './expand-feedback.ts';

/**
 * Limits of one request, counting its parameters and its `filter` together. Each condition on spans
 * is one more search of the project's spans. Each prompt id represents up to a thousand names and
 * texts, and each condition on feedback up to ten thousand trace ids.
 */
const limits = {
  conditions: { most: 100, are: 'conditions' },
  values: { most: 1_000, are: 'values' },
  spanConditions: { most: 10, are: 'conditions on spans (attr.<key> and q)' },
  promptIds: { most: 100, are: 'prompt ids' },
  feedbackConditions: { most: 10, are: 'conditions on has_feedback' },
} as const;

type Leaf = Exclude<Condition, { all: unknown } | { any: unknown } | { not: unknown }>;

/**
 * Checks that a condition keeps the limits.
 * @throws MalformedError `invalid_filter`, or `invalid_parameter` without a filter, that names the
 * exceeded limit
 */
export function checkCost(condition: Condition, code: 'invalid_filter' | 'invalid_parameter'): void {
  const leaves = leavesOf(condition);
  const given: Record<keyof typeof limits, number> = {
    conditions: leaves.length,
    values: leaves.reduce((sum, leaf) => sum + valueCount(leaf), 0),
    spanConditions: leaves.filter((leaf) => 'attribute' in leaf || 'words' in leaf).length,
    promptIds: promptIdsIn(condition).length,
    feedbackConditions: leaves.filter(isOfFeedback).length,
  };
  const path = code === 'invalid_filter' ? 'filter' : 'query';
  for (const name of limitNames) {
    const { most, are } = limits[name];
    if (given[name] <= most) continue;
    const message = `has ${given[name]} ${are}. One request may have at most ${most}, parameters and filter together`;
    throw new MalformedError(code, `${path} ${message}`, { errors: [{ path, code, message }] });
  }
}

const limitNames = Object.keys(limits) as (keyof typeof limits)[];

/** Returns every prompt id that the condition compares with, including repetitions. */
export function promptIdsIn(condition: Condition): string[] {
  return leavesOf(condition).flatMap(promptIdsOf);
}

/** Returns the prompt ids that one leaf of a condition compares with, as given. */
export function promptIdsOf(leaf: Leaf): string[] {
  if ('prompt' in leaf) return leaf.prompt.mentions.flat().map(String);
  const compares = 'field' in leaf && leaf.field === executionFields.prompt_id && leaf.op !== 'exists';
  return compares ? leaf.values.map(String) : [];
}

/** Recursion is safe because the nesting of a filter is limited. */
function leavesOf(condition: Condition): Leaf[] {
  if ('all' in condition) return condition.all.flatMap(leavesOf);
  if ('any' in condition) return condition.any.flatMap(leavesOf);
  return 'not' in condition ? leavesOf(condition.not) : [condition];
}

function valueCount(leaf: Leaf): number {
  if ('words' in leaf) return leaf.words.length;
  if ('traces' in leaf) return 0;
  return 'prompt' in leaf ? leaf.prompt.mentions.length : leaf.values.length;
}
