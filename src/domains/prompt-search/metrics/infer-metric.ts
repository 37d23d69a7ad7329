import { mapInSlices, type Rest } from '../../../lib/pace.ts';
import type { MetricConfig } from '../search/ports.ts';
import { parseJson, textOf } from './texts.ts';

/** A metric chosen from the expected values, and the reason in a sentence. */
export interface InferredMetric {
  metric: MetricConfig;
  reason: string;
}

/** The longest texts that a model can be expected to give exactly. */
const shortCharsMax = 60;
/** No output is longer, so longer texts are not read as JSON. */
const jsonCharsMax = 131_072;

const isObject = (value: unknown) => typeof value === 'object' && value !== null;
const isNumber = (value: unknown) =>
  typeof value === 'number' || (typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value));
const isJson = (value: unknown) =>
  isObject(value) || (typeof value === 'string' && value.length <= jsonCharsMax && isObject(parseJson(value)));

const guesses: readonly { fits: (value: unknown) => boolean; metric: MetricConfig; reason: string }[] = [
  { fits: isJson, metric: { type: 'json_equal' }, reason: 'Every expected value is JSON' },
  { fits: isNumber, metric: { type: 'numeric' }, reason: 'Every expected value is a number' },
  {
    fits: (value) => textOf(value).length <= shortCharsMax,
    metric: { type: 'exact_match' },
    reason: `No expected value is longer than ${shortCharsMax} characters`,
  },
  {
    fits: () => true,
    metric: { type: 'similarity' },
    reason: `Some expected values are longer than ${shortCharsMax} characters`,
  },
];

const criteria = 'The output answers the inputs correctly, completely and in the form that the prompt asks for.';

/**
 * Chooses a metric for rows by their expected values; rows without one are not looked at. Works in slices, because
 * reading all values as JSON takes up to a second.
 */
export async function inferMetric(rows: readonly { expected?: unknown }[], rest: Rest): Promise<InferredMetric> {
  const known = rows.map(({ expected }) => expected).filter((expected) => expected !== undefined);
  const fitting = await mapInSlices(known, (expected) => guesses.map(({ fits }) => fits(expected)), rest);
  const guess = known.length === 0 ? undefined : guesses.find((_, index) => fitting.every((fits) => fits[index]));
  if (guess !== undefined)
    return { metric: guess.metric, reason: `${guess.reason}, so the metric is ${guess.metric.type}.` };
  return {
    metric: { type: 'llm_judge', options: { criteria } },
    reason: 'No row says what is expected, so the metric is llm_judge.',
  };
}
