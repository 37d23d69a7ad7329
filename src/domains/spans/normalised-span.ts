import type { SpanKind } from '../../lib/span-kind.ts';
import type { PromptRef } from '../prompt-links/index.ts';
import type { TokenUsage } from './token-usage.ts';

/** Raised whenever the same span would come out differently, so that stored spans can be normalised again. */
export const NORMALISER_VERSION = 4;

export type SpanStatus = 'unset' | 'ok' | 'error';

/** Who says what a span cost: nobody, its client, or our price table. */
export type CostSource = 'none' | 'reported' | 'computed';

/** One span in one shape, whichever client sent it. Texts are '' and counts 0 when unknown. */
export interface NormalisedSpan {
  kind: SpanKind;
  /** What to show; the span's own name stays beside it. */
  name: string;
  service: string;
  environment: string;
  release: string;
  /** The model that answered, else the one that was asked for. */
  model: string;
  requestModel: string;
  provider: string;
  status: SpanStatus;
  errorType: string;
  errorMessage: string;
  errorStack: string;
  httpStatusCode: number;
  /** null when the span reports no usage at all. */
  usage: TokenUsage | null;
  reportedCostNanoUsd: bigint | null;
  /** JSON of `[{role, parts}]` when the source is messages, else the text or JSON as it was sent. */
  input: string;
  output: string;
  /** For people: at most 200 UTF-16 units. */
  inputPreview: string;
  outputPreview: string;
  sessionId: string;
  conversationId: string;
  userId: string;
  tags: string[];
  ttftMs: number | null;
  responseId: string;
  promptRef: PromptRef | null;
  /** Request parameters as a JSON object, or ''. */
  params: string;
  /** JSON list of what was judged of the span, its trace or its session, or ''. */
  evaluations: string;
  /** What was bent while normalising, as short stable words. */
  warnings: string[];
}
