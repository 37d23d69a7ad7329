import { InvalidError } from '../../lib/errors.ts';
import { checkMetrics, inferMetric, type MetricConfig } from '../prompt-search/index.ts';
import type { RunWarning } from './run.ts';
import type { RowInput } from './split-rows.ts';

/**
 * Returns the metrics of a run: the given ones, or one that fits the expected values, with a warning
 * that says why.
 * @throws InvalidError `invalid_metric` for a pattern or schema that does not compile
 */
export function chooseMetrics(
  given: readonly MetricConfig[] | undefined,
  rows: readonly RowInput[],
): { metrics: readonly MetricConfig[]; warnings: RunWarning[] } {
  if (given === undefined) {
    const { metric, reason } = inferMetric(rows);
    return { metrics: [metric], warnings: [{ code: 'metric_inferred', message: reason }] };
  }
  const faults = checkMetrics(given);
  const [first] = faults;
  if (first !== undefined) {
    throw new InvalidError('invalid_metric', `${first.path}: ${first.message}`, {
      errors: faults.map((fault) => ({ ...fault, code: 'invalid_metric' })),
    });
  }
  return { metrics: given, warnings: [] };
}
