import { LRUCache } from 'lru-cache';
import type { MetricConfig } from '../search/ports.ts';
import type { MetricScore, PreparedMetric, ScoreInput } from './metric.ts';
import { metricTypeOf } from './metric-types.ts';

const keptMax = 16;
const kept = new LRUCache<string, PreparedMetric>({ max: keptMax });

/**
 * Scores with a metric that scores by itself, and keeps it compiled. It may take very long, so call it in
 * a thread that can be ended.
 * @throws InvalidMetricError as `checkMetrics` reports it
 */
export function scoreApart(config: MetricConfig, input: ScoreInput): MetricScore {
  const metric = prepared(config);
  if (metric.kind === 'judge') throw new RangeError(`The metric ${config.type} needs a model`);
  return metric.score(input);
}

function prepared({ type, options = {} }: MetricConfig): PreparedMetric {
  const key = JSON.stringify([type, options]);
  const known = kept.get(key) ?? metricTypeOf(type).prepare(options);
  kept.set(key, known);
  return known;
}
