import { beginningOf } from '../../../lib/beginning-of.ts';
import type { MetricConfig } from '../search/ports.ts';
import type { ApartMetric, JudgeMetric, MetricScore, PlainMetric, ScoreInput } from './metric.ts';
import { metricTypeOf } from './metric-types.ts';

/** The metrics of a run, compiled once. */
export interface PreparedMetrics {
  parts: readonly MetricPart[];
  /** Calls of a judge for one output. */
  judges: number;
}

export interface MetricPart {
  /** Its type; a second metric of a type has a number behind it. */
  name: string;
  weight: number;
  isGate: boolean;
  config: MetricConfig;
  metric: PlainMetric | JudgeMetric | ApartMetric;
  applies(input: Pick<ScoreInput, 'expected' | 'note'>): boolean;
}

/** Prepares metrics that `checkMetrics` has no fault of. Patterns of users are not compiled here. */
export function prepareMetrics(configs: readonly MetricConfig[]): PreparedMetrics {
  const parts = configs.map((config, index): MetricPart => {
    const type = metricTypeOf(config.type);
    const options = config.options ?? {};
    const needsExpected = type.needsExpected(options);
    const before = configs.slice(0, index).filter((each) => each.type === config.type).length;
    return {
      name: before === 0 ? config.type : `${config.type}_${before + 1}`,
      weight: config.weight ?? 1,
      isGate: config.gate ?? false,
      config,
      metric: type.isApart ? { kind: 'apart' } : type.prepare(options),
      applies: ({ expected, note }) =>
        !(needsExpected && expected === undefined) && !(config.type === 'feedback_avoid' && note === undefined),
    };
  });
  return { parts, judges: parts.filter(({ metric }) => metric.kind === 'judge').length };
}

/** Characters of the feedback on one output. */
const feedbackCharsMax = 2_000;

/**
 * Combines the scores of the parts: the mean by weights, or 0 if a gate is below 1. A gate only
 * decides; with gates alone, the total is 1 if all hold. The feedback is cut to 2,000 characters.
 */
export function combineScores(scored: readonly { part: MetricPart; score: MetricScore }[]): MetricScore {
  const said = scored.flatMap(({ score }) => (score.feedback === '' ? [] : [score.feedback]));
  const feedback = beginningOf(said.join('\n'), feedbackCharsMax);
  if (scored.some(({ part, score }) => part.isGate && score.score < 1)) return { score: 0, feedback };
  const weighed = scored.filter(({ part }) => !part.isGate);
  const weight = weighed.reduce((sum, { part }) => sum + part.weight, 0);
  const total = weighed.reduce((sum, { part, score }) => sum + part.weight * score.score, 0);
  return { score: weight === 0 ? 1 : total / weight, feedback };
}
