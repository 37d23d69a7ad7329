import { contains } from './contains.ts';
import { exactMatch } from './exact-match.ts';
import { feedbackAvoid } from './feedback-avoid.ts';
import { jsonEqual } from './json-equal.ts';
import { jsonSchema } from './json-schema.ts';
import { llmJudge } from './llm-judge.ts';
import type { MetricType } from './metric.ts';
import { numeric } from './numeric.ts';
import { regex } from './regex.ts';
import { similarity } from './similarity.ts';

/** Every type of metrics. To add one, add a file and a row. */
export const metricTypes = {
  exact_match: exactMatch,
  contains,
  regex,
  json_schema: jsonSchema,
  json_equal: jsonEqual,
  numeric,
  similarity,
  llm_judge: llmJudge,
  feedback_avoid: feedbackAvoid,
} as const satisfies Record<string, MetricType>;

export type MetricTypeName = keyof typeof metricTypes;

/**
 * Returns the type of metrics with a name.
 * @throws RangeError for an unknown name, which the schema of the API refuses
 */
export function metricTypeOf(name: string): MetricType {
  const found = Object.hasOwn(metricTypes, name) ? Reflect.get(metricTypes, name) : undefined;
  if (found === undefined) throw new RangeError(`There is no metric ${JSON.stringify(name)}`);
  return found;
}
