import type { z } from 'zod';
import type { ChatMessage } from '../search/ports.ts';
import type { MetricScore, ScoreInput } from './metric-score.ts';

export type { MetricScore, ScoreInput } from './metric-score.ts';

/** A metric that scores by itself. */
export interface PlainMetric {
  kind: 'plain';
  score(input: ScoreInput): MetricScore;
}

/** A metric that asks a model. `read` returns undefined if the reply cannot be used. */
export interface JudgeMetric {
  kind: 'judge';
  /** undefined: the model of the run. */
  model: string | undefined;
  ask(input: ScoreInput): ChatMessage[];
  read(reply: string): MetricScore | undefined;
}

/** A metric whose time depends on what a user wrote. `SearchPorts.score` scores with it, in another thread. */
export interface ApartMetric {
  kind: 'apart';
}

export type PreparedMetric = PlainMetric | JudgeMetric;

/** A type of metrics: its options, what it needs of a row, and how it scores. */
export interface MetricType {
  options: z.ZodType;
  /** Whether every row needs an expected value, with these options. */
  needsExpected: (options: unknown) => boolean;
  needsJudge: boolean;
  /** Whether its time depends on what a user wrote: a short pattern can take long. */
  isApart: boolean;
  /** @throws InvalidMetricError if an option cannot be used, such as a pattern that does not compile */
  prepare: (options: unknown) => PreparedMetric;
}

/** An option of a metric cannot be used. */
export class InvalidMetricError extends Error {
  readonly option: string;
  constructor(message: string, option: string) {
    super(message);
    this.name = 'InvalidMetricError';
    this.option = option;
  }
}

/** Describes a type of metrics with typed options. */
export function metricType<S extends z.ZodType>(type: {
  options: S;
  needsExpected?: (options: z.output<S>) => boolean;
  needsJudge?: boolean;
  isApart?: boolean;
  prepare: (options: z.output<S>) => PreparedMetric;
}): MetricType {
  const { options, needsExpected = () => false, needsJudge = false, isApart = false, prepare } = type;
  return {
    options,
    needsExpected: (given) => needsExpected(options.parse(given)),
    needsJudge,
    isApart,
    prepare: (given) => prepare(options.parse(given)),
  };
}
