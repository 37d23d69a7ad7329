import type { Candidate } from '../../prompt-search/index.ts';
import type { Run } from '../run.ts';

/** A candidate without its text. */
export type ShownCandidate = Omit<Candidate, 'content' | 'hash'>;

/** Everything that a report shows. Texts may be hostile: they come from prompts, rows and models. */
export interface Report {
  promptName: string;
  run: Run;
  /** In the order in which they came to be, the seed first. */
  candidates: readonly ShownCandidate[];
  /** Whether the run has more candidates. */
  hasMoreCandidates: boolean;
  /** The winner, or the best so far. */
  bestId: string | undefined;
  /** Unified diff of the prompt and the best; '' if they are equal, null if there is no time to compare them now. */
  diff: string | null;
  rows: WorstRows;
}

/** A row with what the prompt and the best candidate made of it. */
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
