import type { FeedbackWire } from '../executions/index.ts';

export type TargetType = FeedbackWire['target_type'];
export type Rating = NonNullable<FeedbackWire['rating']>;
export type FeedbackValue = NonNullable<FeedbackWire['value']>;
export type Author = FeedbackWire['author'];

/** What feedback is about, and under which key it is unique in its project. */
export interface Target {
  type: TargetType;
  /** The target within its type: trace, trace/span, prompt@version, session, or ''. */
  key: string;
  traceId: string | undefined;
  spanId: string | undefined;
  promptId: string | undefined;
  promptVersion: number | undefined;
  sessionId: string | undefined;
}

/** The content of feedback. Of an update, undefined keeps what is stored, and null removes it. */
export interface FeedbackContent {
  value?: FeedbackValue | null | undefined;
  rating?: Rating | null | undefined;
  comment?: string | null | undefined;
  correction?: string | null | undefined;
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface Feedback {
  id: string;
  targetType: TargetType;
  traceId: string | null;
  spanId: string | null;
  promptId: string | null;
  promptVersion: number | null;
  sessionId: string | null;
  name: string;
  /** '' for feedback without a user. */
  userId: string;
  value: FeedbackValue | null;
  rating: Rating | null;
  /** From 0 to 1, see `feedbackSchema`. Postgres computes it. */
  score: number | null;
  comment: string | null;
  correction: string | null;
  metadata: Record<string, unknown> | null;
  author: Author;
  createdAt: Date;
  updatedAt: Date;
}
