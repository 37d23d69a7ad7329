import { InvalidError } from '../../lib/errors.ts';
import type { Rest } from '../../lib/pace.ts';
import { inferMetric, type MetricConfig } from '../prompt-search/index.ts';
import { TemplateLimitError, type WorkspaceThreads } from '../templates/index.ts';
import type { RunWarning } from './run.ts';
import type { RowInput } from './split-rows.ts';

/**
 * Returns the metrics of a run: the given ones, or one that fits the expected values, with a warning
 * that says why.
 * @throws InvalidError `invalid_metric` for a pattern or schema that does not compile, or not soon enough
 * @throws what `threads` throws
 */
export async function chooseMetrics(
  threads: WorkspaceThreads,
  given: readonly MetricConfig[] | undefined,
  rows: readonly RowInput[],
  rest: Rest,
): Promise<{ metrics: readonly MetricConfig[]; warnings: RunWarning[] }> {
  if (given === undefined) {
    const { metric, reason } = await inferMetric(rows, rest);
    return { metrics: [metric], warnings: [{ code: 'metric_inferred', message: reason }] };
  }
  const faults = await threads.run('checkMetrics', { metrics: given }).catch(refuseSlow);
  const [first] = faults;
  if (first !== undefined) {
    throw new InvalidError('invalid_metric', `${first.path}: ${first.message}`, {
      errors: faults.map((fault) => ({ ...fault, code: 'invalid_metric' })),
    });
  }
  return { metrics: given, warnings: [] };
}

/** Metrics that take too long to compile would take too long for every output. */
function refuseSlow(error: unknown): never {
  if (error instanceof TemplateLimitError) throw new InvalidError('invalid_metric', error.message);
  throw error;
}
