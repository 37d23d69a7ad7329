import { z } from 'zod';
import { type MetricTypeName, metricTypes } from './metric-types.ts';

const common = {
  weight: z
    .number()
    .positive()
    .max(1_000)
    .optional()
    .meta({ description: 'Weight in the mean of all metrics; 1 if not given' }),
  gate: z.boolean().optional().meta({ description: 'If true, a score below 1 makes the total 0' }),
};

const metric = <T extends MetricTypeName>(type: T) =>
  z.strictObject({ type: z.literal(type), ...common, options: metricTypes[type].options.optional() });

/** A metric in a request: its type, and its settings under `options`. */
export const metricBody = z.discriminatedUnion('type', [
  metric('exact_match'),
  metric('contains'),
  metric('regex').required({ options: true }),
  metric('json_schema').required({ options: true }),
  metric('json_equal'),
  metric('numeric'),
  metric('similarity'),
  metric('llm_judge').required({ options: true }),
  metric('feedback_avoid'),
]);

/** Characters of all metrics as JSON. They go to another thread with every output. */
const metricsCharsMax = 64 * 1024;

/** The metrics of a run. */
export const metricsBody = z
  .array(metricBody)
  .min(1)
  .max(10)
  .refine((metrics) => JSON.stringify(metrics).length <= metricsCharsMax, {
    error: `must have at most ${metricsCharsMax} characters as JSON`,
  });
