import type { ProjectId } from '../../../lib/ids.ts';
import { endOfTimesMs } from '../../../lib/time.ts';
import type { ClickHouse } from '../../../stores/clickhouse/client.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { findPromptCalls, type PromptCall } from '../../analytics/index.ts';
import { type FeedbackKind, type FeedbackPlace, findFeedbackPlaces } from '../../feedback/index.ts';
import { findPromptMentions } from '../../prompt-links/index.ts';
import type { RunWarning } from '../run.ts';

/** Feedback that is read at once. Its traces are one parameter, which ClickHouse takes up to 128 KiB, 32 bytes each. */
const feedbackPerPage = 3_000;
/** Feedback that is looked at, and calls that are found, before older feedback is left out. */
const pagesMax = 20;
const callsMax = 5_000;
const dayMs = 24 * 60 * 60_000;
const windowMsDefault = 90 * dayMs;
/** Calls may begin this long after their feedback, by the clock of their client. */
const clockToleranceMs = dayMs;

/** Runs a read in the turn of its workspace. */
export type Turn = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * Returns the calls of a prompt in traces that have the wanted feedback, on anything in them, newest
 * first. Of very much feedback, and of very many calls in its traces, it looks at the newest. Each page of feedback takes
 * a turn, and none begins when the time is over, which is `isCut`.
 * @throws UnavailableError while a store is unavailable, and what `turn` throws
 */
export async function findRatedCalls(
  { clickhouse, postgres }: { clickhouse: ClickHouse; postgres: Postgres },
  {
    projectId,
    promptId,
    filter,
    turn,
    isOver,
  }: {
    projectId: ProjectId;
    promptId: string;
    filter: { from?: string | undefined; to?: string | undefined; feedback: FeedbackKind };
    turn: Turn;
    isOver: () => boolean;
  },
): Promise<{ calls: PromptCall[]; warnings: RunWarning[]; isCut: boolean }> {
  const toMs = filter.to === undefined ? Date.now() + clockToleranceMs : storableMs(filter.to);
  const fromMs = filter.from === undefined ? Math.max(0, toMs - windowMsDefault) : storableMs(filter.from);
  const [mentions = { id: promptId, names: [], keys: [] }] = await findPromptMentions(postgres, projectId, [promptId]);
  const wanted = { projectId, kind: filter.feedback, fromMs: Math.max(0, fromMs - clockToleranceMs) };
  const seen = new Set<string>();
  const calls: PromptCall[] = [];
  let after: FeedbackPlace | undefined;
  let page = 0;
  for (; page < pagesMax && calls.length < callsMax && !isOver(); page++) {
    const places = await turn(async () => {
      const places = await findFeedbackPlaces(postgres, wanted, { after, limit: feedbackPerPage });
      const feedback = places.filter(({ traceId }) => !seen.has(traceId));
      for (const { traceId } of feedback) seen.add(traceId);
      const ofPrompt = { projectId, window: { fromMs, toMs }, mentions };
      calls.push(...(await findPromptCalls(clickhouse, ofPrompt, { feedback, limit: callsMax - calls.length })));
      return places;
    });
    after = places.at(-1);
    if (places.length < feedbackPerPage && calls.length < callsMax) {
      return { calls: newestFirst(calls), warnings: [], isCut: false };
    }
  }
  const isCut = page < pagesMax && calls.length < callsMax;
  return { calls: newestFirst(calls), warnings: isCut ? [] : [tooMuch], isCut };
}

/** Returns a time in ms since the epoch. No call began before the epoch or after the times that are stored. */
const storableMs = (time: string) => Math.min(Math.max(0, Date.parse(time)), endOfTimesMs);

const tooMuch: RunWarning = {
  code: 'feedback_truncated',
  message: 'The project has more feedback, or more calls with feedback, than is looked at. The rows are of the newest',
};

function newestFirst(calls: readonly PromptCall[]): PromptCall[] {
  const key = ({ traceId, spanId }: PromptCall) => traceId + spanId;
  return calls.toSorted((a, b) =>
    a.startUnixNano === b.startUnixNano ? (key(a) < key(b) ? -1 : 1) : a.startUnixNano > b.startUnixNano ? -1 : 1,
  );
}
