import type { Waiter } from '../../lib/fair-lane-options.ts';
import { groupBy } from '../../lib/group-by.ts';
import { oneTurn, Pace } from '../../lib/pace.ts';

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

/** Returns the numbers of one feedback. */
function sumsOf({ score }: PromptFeedback): FeedbackSums {
  if (score === null) return { ...noFeedback(), count: 1 };
  return { count: 1, scored: 1, score, positive: score > neutralScore ? 1 : 0 };
}

function addSums(sums: FeedbackSums, more: FeedbackSums): void {
  sums.count += more.count;
  sums.scored += more.scored;
  sums.score += more.score;
  sums.positive += more.positive;
}

/** Adds sums to those with this key. */
function addTo<Key>(byKey: Map<Key, FeedbackSums>, key: Key, more: FeedbackSums): void {
  const sums = byKey.get(key);
  if (sums === undefined) byKey.set(key, { ...more });
  else addSums(sums, more);
}

/** Calls of a prompt in a trace, and the groups that they belong to. */
export interface KeyedCalls {
  traceId: string;
  /** The span of the call if feedback names it; '' for the other calls of the trace together. */
  spanId: string;
  keys: readonly string[];
}

/**
 * Counts feedback by group, and in all. Feedback on a span belongs to the group of that call,
 * feedback on an execution to each group that has a call in it. Feedback on the prompt belongs to the
 * groups that `keysOfVersion` names, and counts in all. Groups that `isWanted` does not name are left out.
 * Feedback is summed up by what it is about first, so the work grows with the feedback and the keys, not with their product.
 */
export async function groupFeedback(
  feedback: readonly PromptFeedback[],
  calls: readonly KeyedCalls[],
  { isWanted, keysOfVersion }: GroupsOfFeedback,
): Promise<{ all: FeedbackSums; byKey: ReadonlyMap<string, FeedbackSums> }> {
  const ofVersion = new Map<number | null, FeedbackSums>();
  const ofCalls = new Map<string, FeedbackSums>();
  for (const each of feedback) {
    const { traceId, spanId, promptVersion } = each;
    if (traceId === null) addTo(ofVersion, promptVersion, sumsOf(each));
    else addTo(ofCalls, spanId === null ? traceId : `${traceId}/${spanId}`, sumsOf(each));
  }
  const all = noFeedback();
  const byKey = new Map<string, FeedbackSums>();
  const count = (sums: FeedbackSums | undefined, keys: Iterable<string>) => {
    if (sums === undefined) return;
    addSums(all, sums);
    for (const key of keys) if (isWanted(key)) addTo(byKey, key, sums);
  };
  for (const [version, sums] of ofVersion) count(sums, keysOfVersion(version));
  const pace = new Pace(oneTurn);
  for (const [traceId, ofTrace] of groupBy(calls, (each) => each.traceId)) {
    await pace.rest();
    const ofExecution = ofCalls.get(traceId);
    if (ofExecution !== undefined) count(ofExecution, new Set(ofTrace.flatMap(({ keys }) => keys.filter(isWanted))));
    for (const { spanId, keys } of ofTrace) count(ofCalls.get(`${traceId}/${spanId}`), keys);
  }
  return { all, byKey };
}

/** The groups that feedback can belong to. */
export interface GroupsOfFeedback {
  isWanted: (key: string) => boolean;
  keysOfVersion: (version: number | null) => readonly string[];
}
