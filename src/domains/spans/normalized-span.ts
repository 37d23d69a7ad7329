import type { SpanKind } from '../../lib/span-kind.ts';
import type { PromptRef } from '../prompt-links/index.ts';
import type { TokenUsage } from './token-usage.ts';

/**
 * Must be raised whenever the same span would be normalized differently. Stored spans of a lower
 * version can then be normalized again.
 */
export const NORMALIZER_VERSION = 7;

export type SpanStatus = 'unset' | 'ok' | 'error';

/** The source of the cost of a span: none, its client, or our price table. */
export type CostSource = 'none' | 'reported' | 'computed';

/** A span in one shape, whichever client sent it. Unknown texts are '' and unknown counts 0. */
export interface NormalizedSpan {
  kind: SpanKind;
  /** The name to show. The original name of the span is stored beside it. */
  name: string;
  service: string;
  environment: string;
  release: string;
  /** The model that answered, else the requested one. */
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
  /** JSON of `[{role, parts}]` when the source is messages, else the text or JSON as sent. */
  input: string;
  output: string;
  /** For display: at most 200 UTF-16 units. */
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
  /** JSON list of evaluations of the span, its trace or its session, or ''. */
  evaluations: string;
  /** Short, stable codes for what was changed or dropped while normalizing. */
  warnings: string[];
}
