/**
 * What the search needs from outside, and what it returns. The search is a deterministic function
 * of its input and the results of calls: after a crash it runs again from the start, `call` returns
 * stored results, and it takes the same way.
 */

import type { MetricScore, ScoreInput } from '../metrics/metric-score.ts';
import type { MetricConfig, SearchConfig } from './search-config.ts';

export type { MetricConfig, ModelConfig, SearchConfig } from './search-config.ts';

export type CallKind = 'task' | 'reflect' | 'judge';
/** The final evaluation has calls of its own, which the rest of the search cannot use. */
export type Phase = 'search' | 'holdout';

export interface ChatMessage {
  role: string;
  content: string;
}

/** A request to a model. Equal keys are equal requests. A key is unique in a run. */
export interface ModelCall {
  key: string;
  kind: CallKind;
  phase: Phase;
  model: string;
  messages: readonly ChatMessage[];
  /** Members of the request beside model and messages: `temperature`, `max_tokens`, `response_format`. */
  params: Readonly<Record<string, unknown>>;
  candidateHash?: string;
  rowKey?: string;
  sampleIx?: number;
}

/** A call whose use is estimated. `addedBytes` is the length of a text that its last message will have as well. */
export type PlannedCall = Pick<ModelCall, 'model' | 'messages' | 'params'> & { addedBytes?: number };

/** A finished call. Tokens and cost are those that are billed; cost is in nano-USD, null if the model has no price. */
export interface CallResult {
  text: string;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: bigint | null;
  latencyMs: number;
}

/** A call that failed after all attempts is an error of its row. It is never a score of 0. */
export type CallOutcome = { ok: true; result: CallResult } | { ok: false; code: string; message: string };

/** What is left before a limit ends the search. Infinity and null: no limit. */
export interface Remaining {
  calls: number;
  tokens: number;
  costNanoUsd: bigint | null;
}

export type BudgetReason = 'budget_calls' | 'budget_tokens' | 'budget_cost' | 'project_budget' | 'duration';
export type RunErrorCode =
  | 'evaluation_failed'
  | 'reflection_failed'
  | 'provider_auth'
  | 'provider_model_not_found'
  | 'price_unknown'
  | 'worker_lost'
  | 'prompt_deleted'
  | 'internal';

/** Thrown by `call` when a limit does not allow the call. The search then goes on to the final evaluation. */
export class LimitReached extends Error {
  readonly reason: BudgetReason;
  constructor(reason: BudgetReason) {
    super(`The run has used up its limit (${reason})`);
    this.name = 'LimitReached';
    this.reason = reason;
  }
}

/** Thrown by `call` or the search when the run cannot go on. */
export class RunFailed extends Error {
  readonly code: RunErrorCode;
  constructor(code: RunErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RunFailed';
    this.code = code;
  }
}

/** The text of a candidate, in the format of the prompt. */
export type CandidateContent =
  | { type: 'text'; template: string }
  | { type: 'chat'; messages: readonly ({ role: string; content: string } | { placeholder: string })[] };

export type Split = 'train' | 'val' | 'holdout';

export interface Row {
  /** Hash of the inputs. Unique in a run. */
  key: string;
  split: Split;
  inputs: Readonly<Record<string, unknown>>;
  /** Text, number or any other JSON value; undefined if not known. */
  expected?: unknown;
  weight: number;
  /** What a user said of a recorded output of this row, for reflection. */
  note?: string;
}

/** What the template engine says of a text: its variables, which of them it requires, its parts, or why it cannot be used. */
export type Analysis =
  | { ok: true; variables: readonly string[]; required: readonly string[]; parts: readonly string[] }
  | { ok: false; problem: string };

export interface SearchPorts {
  /**
   * Sends a request, or returns the stored result.
   * @throws LimitReached, RunFailed, and the reason of `signal` once it is aborted
   */
  call(call: ModelCall): Promise<CallOutcome>;
  /**
   * What is left for a phase, counted over the calls that the search has made so far and those that
   * earlier attempts lost. In a replay it is as it was at the same place of the search.
   */
  remaining(phase: Phase): Remaining;
  /** Keeps this much for the phase `holdout`. Called once, before the first call. */
  reserveHoldout(need: { calls: number; tokens: number; costNanoUsd: bigint | null }): void;
  /** Upper bound of what a call may use: bytes / 3 of its text and `max_tokens`, at the prices of its model. */
  estimate(call: PlannedCall): { tokens: number; costNanoUsd: bigint | null };
  /**
   * Renders a candidate with inputs, by the engine that the service renders with.
   * @throws InvalidError if this content cannot be rendered with these inputs
   */
  render(content: CandidateContent, inputs: Readonly<Record<string, unknown>>): Promise<ChatMessage[]>;
  analyze(content: CandidateContent): Promise<Analysis>;
  /**
   * Scores an output with a metric whose time depends on what a user wrote, where it can be ended.
   * Returns an error if it takes too long.
   */
  score(metric: MetricConfig, input: ScoreInput): Promise<MetricScore | { error: string }>;
  /** Takes note of what happened. Ids in events are the same in a replay. */
  emit(event: SearchEvent): Promise<void>;
  readonly signal: AbortSignal;
}

export type CandidateStatus = 'rejected_invalid' | 'rejected_gate' | 'raced_out' | 'pool';
export type CandidateOrigin = 'seed' | 'reflect' | 'restart' | 'meta' | 'demo';

export interface Candidate {
  /** Short, and the same in a replay: the hash of content and iteration. */
  id: string;
  hash: string;
  content: CandidateContent;
  parents: readonly string[];
  origin: CandidateOrigin;
  hypothesis: string | null;
  status: CandidateStatus;
  rejectReason: string | null;
  iteration: number;
  promptTokens: number;
  minibatch: { before: number; after: number } | null;
  val: { mean: number; n: number } | null;
}

export interface Evaluation {
  candidateHash: string;
  rowKey: string;
  sampleIx: number;
  split: Split;
  /** null if the row had an error. */
  score: number | null;
  objectives: Readonly<Record<string, number>>;
  feedback: string;
  output: string;
  latencyMs: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: bigint | null;
  error: string | null;
}

export interface Progress {
  phase: 'preparing' | 'baseline' | 'search' | 'holdout' | 'finalizing';
  iteration: number;
  bestVal: number | null;
  bestCandidateId: string | null;
}

export type SearchEvent =
  | { type: 'progress'; progress: Progress }
  | { type: 'candidate'; candidate: Candidate }
  | { type: 'evaluations'; evaluations: readonly Evaluation[] }
  | { type: 'score'; call: number; bestVal: number }
  | { type: 'warning'; code: string; message: string };

export type Outcome = 'improved' | 'no_improvement' | 'inconclusive' | 'already_optimal';
export type FinishReason = BudgetReason | 'max_iterations' | 'patience' | 'target_score' | 'perfect';

/** Mean with its 95 % confidence interval. */
export interface Interval {
  mean: number;
  ci95: readonly [number, number];
}

export interface Decision {
  outcome: Outcome;
  finishReason: FinishReason;
  winnerId: string;
  /** Of the holdout, or of the validation rows if the base is perfect on them. null if nothing was compared. */
  score: {
    split: 'holdout' | 'val';
    n: number;
    base: Interval;
    best: Interval;
    delta: Interval & { p: number | null };
  } | null;
  /** Differences of the winner to the base; null where unknown. */
  delta: {
    promptTokens: Interval | null;
    outputTokens: Interval | null;
    costPer1kCallsUsd: Interval | null;
    latencyMsP50: number | null;
    latencyMsP95: number | null;
  };
  frontier: readonly {
    candidateId: string;
    valScore: number;
    promptTokens: number;
    costNanoUsd: number | null;
    latencyMs: number;
    onFrontForRows: number;
  }[];
}

export interface SearchInput {
  config: SearchConfig;
  base: CandidateContent;
  rows: readonly Row[];
}

/** The exported function of search/optimize.ts. */
export type Optimize = (ports: SearchPorts, input: SearchInput) => Promise<Decision>;
