import type { MetricConfig } from '../search/ports.ts';
import { InvalidMetricError } from './metric.ts';
import { metricTypeOf } from './metric-types.ts';

/** Why a metric cannot be used, with its path below `metrics`. */
export interface MetricFault {
  path: string;
  message: string;
}

/**
 * Returns the faults of metrics that `metricBody` accepts: patterns and schemas that do not compile. Some
 * take very long, so call it in a thread that can be ended.
 */
export function checkMetrics(metrics: readonly MetricConfig[]): MetricFault[] {
  return metrics.flatMap(({ type, options = {} }, index) => {
    try {
      metricTypeOf(type).prepare(options);
      return [];
    } catch (error) {
      if (!(error instanceof InvalidMetricError)) throw error;
      return [{ path: `metrics[${index}].options.${error.option}`, message: error.message }];
    }
  });
}

/** Returns what metrics need: expected values in rows, and calls of a judge per output. */
export function needsOf(metrics: readonly MetricConfig[]): { expected: boolean; judges: number } {
  return {
    expected: metrics.some(({ type, options = {} }) => metricTypeOf(type).needsExpected(options)),
    judges: metrics.filter(({ type }) => metricTypeOf(type).needsJudge).length,
  };
}
