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
   * Returns at most `max` traces that got feedback at or after `fromMs`.
   * @throws UnavailableError while Postgres is unavailable
   */
  tracesWith(projectId: string, fromMs: number, max: number): Promise<readonly string[]>;
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
