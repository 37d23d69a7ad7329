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
