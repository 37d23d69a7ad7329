import type { Waiter } from '../../lib/fair-lane-options.ts';
import type { FeedbackWire } from './feedback.schema.ts';

/**
 * What executions need to know about their feedback, which is stored elsewhere. Each method counts
 * feedback on the execution and on its spans, and costs nothing in a project without feedback.
 */
export interface FeedbackOfExecutions {
  /**
   * Returns the mean score of each trace that has scored feedback. Empty while Postgres is
   * unavailable, so that executions stay readable.
   */
  scoresOf(project: ProjectOfFeedback, traceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Returns the newest feedback on one trace, at most 100, and the mean score of all. Empty while
   * Postgres is unavailable.
   */
  listOf(project: ProjectOfFeedback, traceId: string): Promise<ExecutionFeedback>;
  /**
   * Returns the traces that got feedback at or after `fromMs`; undefined when they are more than `max`, or have too
   * many entries to be looked at.
   * @throws RateLimitedError when the workspace reads too much feedback
   * @throws UnavailableError while Postgres is unavailable or busy
   */
  tracesWith(
    project: ProjectOfFeedback,
    fromMs: number,
    max: number,
    waiter: Waiter,
  ): Promise<readonly string[] | undefined>;
}

/** A project, and the workspace whose share its reads take. */
export interface ProjectOfFeedback {
  workspaceId: string;
  projectId: string;
}

export interface ExecutionFeedback {
  items: readonly FeedbackWire[];
  score: number | null;
}
