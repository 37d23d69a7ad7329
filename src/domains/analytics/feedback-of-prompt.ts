import type { Waiter } from '../../lib/fair-lane-options.ts';

/** Feedback that may concern a call of a prompt. */
export interface PromptFeedback {
  /** The trace of feedback on an execution or span; null for feedback on the prompt itself. */
  traceId: string | null;
  /** The span of feedback on a span. */
  spanId: string | null;
  /** The version of feedback on a prompt, if it names one. */
  promptVersion: number | null;
  /** From 0 to 1; null for feedback without a score. */
  score: number | null;
}

/** How analytics reads the feedback of a project, which another domain stores. */
export interface FeedbackOfPrompts {
  /**
   * Returns the newest feedback on executions, spans and this prompt since a time, at most `max`.
   * Feedback on a call can come later than the call, feedback on the prompt must be of the window.
   * @throws RateLimitedError when the workspace reads too much feedback
   * @throws UnavailableError while Postgres is unavailable or busy
   */
  ofPrompt(
    project: { workspaceId: string; projectId: string },
    query: { promptId: string; fromMs: number; toMs: number; max: number },
    waiter: Waiter,
  ): Promise<readonly PromptFeedback[]>;
}

/** Numbers of feedback of one group. */
export interface FeedbackSums {
  count: number;
  scored: number;
  score: number;
  positive: number;
}

/** A score above this is positive. */
const neutralScore = 0.5;

/** Returns no feedback. */
export const noFeedback = (): FeedbackSums => ({ count: 0, scored: 0, score: 0, positive: 0 });

/** Adds one feedback. */
export function addFeedback(sums: FeedbackSums, { score }: PromptFeedback): void {
  sums.count++;
  if (score === null) return;
  sums.scored++;
  sums.score += score;
  if (score > neutralScore) sums.positive++;
}

/** Calls of a prompt in a trace, and a group that they belong to. */
export interface KeyedCall {
  traceId: string;
  /** The span of the call if feedback names it; '' for the other calls of the trace together. */
  spanId: string;
  key: string;
}

/**
 * Counts feedback by group, and in all. Feedback on a span belongs to the group of that call,
 * feedback on an execution to each group that has a call in it. Feedback on the prompt belongs to the
 * groups that `keysOfVersion` names, and counts in all.
 */
export function groupFeedback(
  feedback: readonly PromptFeedback[],
  calls: readonly KeyedCall[],
  keysOfVersion: (version: number | null) => readonly string[],
): { all: FeedbackSums; byKey: ReadonlyMap<string, FeedbackSums> } {
  const ofTrace = new Map<string, Set<string>>();
  const ofSpan = new Map<string, Set<string>>();
  for (const { traceId, spanId, key } of calls) {
    addTo(ofTrace, traceId, key);
    addTo(ofSpan, `${traceId}/${spanId}`, key);
  }
  const all = noFeedback();
  const byKey = new Map<string, FeedbackSums>();
  for (const each of feedback) {
    const { traceId, spanId, promptVersion } = each;
    const found = spanId === null ? ofTrace.get(traceId ?? '') : ofSpan.get(`${traceId}/${spanId}`);
    const keys = traceId === null ? keysOfVersion(promptVersion) : found;
    if (keys === undefined) continue;
    addFeedback(all, each);
    for (const key of keys) {
      const sums = byKey.get(key) ?? noFeedback();
      byKey.set(key, sums);
      addFeedback(sums, each);
    }
  }
  return { all, byKey };
}

function addTo(sets: Map<string, Set<string>>, name: string, key: string): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([key]));
  else set.add(key);
}
