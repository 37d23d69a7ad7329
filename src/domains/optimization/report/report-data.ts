import type { StoredCandidate } from '../candidate-store.ts';
import type { Run } from '../run.ts';

/** Everything that a report shows. Texts may be hostile: they come from prompts, rows and models. */
export interface Report {
  promptName: string;
  run: Run;
  /** In the order in which they came to be, the seed first. */
  candidates: readonly StoredCandidate[];
  /** Whether the run has more candidates. */
  hasMoreCandidates: boolean;
  /** The winner, or the best so far. */
  best: StoredCandidate | undefined;
  /** Unified diff of the prompt and `best`; '' if they are equal. */
  diff: string;
  rows: WorstRows;
}

/** A row with what the prompt and `best` made of it. */
export interface ComparedRow {
  rowKey: string;
  /** JSON texts; the beginning of long ones. `expected` is null if it is not known. */
  inputs: string;
  expected: string | null;
  before: RowOutcome;
  after: RowOutcome;
}

/** The mean score over the samples, and the output of the worst. */
export interface RowOutcome {
  score: number | null;
  output: string | null;
  feedback: string | null;
}

export interface WorstRows {
  split: 'holdout' | 'val';
  before: readonly ComparedRow[];
  after: readonly ComparedRow[];
}
