import type { z } from 'zod';
import type { ChatMessage } from '../search/ports.ts';

/** What a metric looks at. `expected` is undefined if it is not known. */
export interface ScoreInput {
  output: string;
  expected: unknown;
  inputs: Readonly<Record<string, unknown>>;
  note: string | undefined;
}

/** A score from 0 to 1, and what was wrong in words for the reflection model; empty if nothing was. */
export interface MetricScore {
  score: number;
  feedback: string;
}

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

export type PreparedMetric = PlainMetric | JudgeMetric;

/** A type of metrics: its options, what it needs of a row, and how it scores. */
export interface MetricType {
  options: z.ZodType;
  needsExpected: boolean;
  needsJudge: boolean;
  /** True if every score is 0 or 1 with these options. */
  isBinary: (options: unknown) => boolean;
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
  needsExpected?: boolean;
  needsJudge?: boolean;
  isBinary?: (options: z.output<S>) => boolean;
  prepare: (options: z.output<S>) => PreparedMetric;
}): MetricType {
  const { options, needsExpected = false, needsJudge = false, isBinary = () => false, prepare } = type;
  return {
    options,
    needsExpected,
    needsJudge,
    isBinary: (given) => isBinary(options.parse(given)),
    prepare: (given) => prepare(options.parse(given)),
  };
}
