import { MalformedError } from '../../../lib/errors.ts';
import type { Comparison, Condition } from './condition.ts';
import { executionFields } from './execution-fields.ts';

/**
 * Maximum executions with feedback in one filter. Their ids are parameters of every statement of the
 * list, 32 bytes each, and ClickHouse takes a mebibyte.
 */
export const feedbackTracesMax = 10_000;

/**
 * Replaces every `has_feedback` in the condition by the executions that have feedback, because
 * ClickHouse does not know them. Calls `tracesWith` once, and not at all without `has_feedback`. It
 * returns undefined for more than the given number of traces, or too much feedback.
 * @throws MalformedError when more than {@link feedbackTracesMax} executions have feedback, or too much
 * @throws what `tracesWith` throws
 */
export async function expandFeedback(
  condition: Condition,
  tracesWith: (max: number) => Promise<readonly string[] | undefined>,
): Promise<Condition> {
  if (!asksFeedback(condition)) return condition;
  const traces = await tracesWith(feedbackTracesMax);
  if (traces === undefined) throw tooMany();
  const given: Condition = traces.length === 0 ? { any: [] } : { traces };
  return expanded(condition, given);
}

function expanded(condition: Condition, given: Condition): Condition {
  const each = (parts: readonly Condition[]) => parts.map((part) => expanded(part, given));
  if ('all' in condition) return { all: each(condition.all) };
  if ('any' in condition) return { any: each(condition.any) };
  if ('not' in condition) return { not: expanded(condition.not, given) };
  if (!isOfFeedback(condition)) return condition;
  const [ofThose, ofOthers] = [holds(condition, true), holds(condition, false)];
  if (ofThose === ofOthers) return ofThose ? { all: [] } : { any: [] };
  return ofThose ? given : { not: given };
}

/** Returns whether a comparison of the flag is true for this value of it. */
function holds({ op, values }: Comparison, flag: boolean): boolean {
  if (op === 'exists') return values[0] === true;
  const isAmong = values.includes(flag);
  return op === 'eq' || op === 'in' ? isAmong : !isAmong;
}

/** Returns whether a condition compares `has_feedback`. */
export function isOfFeedback(condition: Condition): condition is Extract<Condition, { field: unknown }> {
  return 'field' in condition && condition.field === executionFields.has_feedback;
}

function asksFeedback(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(asksFeedback);
  if ('any' in condition) return condition.any.some(asksFeedback);
  return 'not' in condition ? asksFeedback(condition.not) : isOfFeedback(condition);
}

function tooMany(): MalformedError {
  const message = `needs a later \`from\`: since a day before it, more than ${feedbackTracesMax} executions got feedback, or one got very much`;
  return new MalformedError('invalid_parameter', `has_feedback ${message}`, {
    errors: [{ path: 'has_feedback', code: 'invalid_parameter', message }],
  });
}
