export { checkMetrics, needsOf } from './metrics/check-metrics.ts';
export { prepareMetrics } from './metrics/combine-scores.ts';
export { inferMetric } from './metrics/infer-metric.ts';
export { metricsBody } from './metrics/metric.schema.ts';
export { promptTokensOf, templatesOf } from './search/candidate-content.ts';
export { validationRowsFor } from './search/choose-rows.ts';
export { optimize } from './search/optimize.ts';
export type * from './search/ports.ts';
export { LimitReached, RunFailed } from './search/ports.ts';
