import type { Phase } from '../prompt-search/index.ts';
import type { Run } from './run.ts';

/** The final evaluation has as much time as the search again, and this at least. */
const finalMsMin = 60_000;

interface DatedRun extends Pick<Run, 'startedAt'> {
  progress: Pick<Run['progress'], 'idleMs'>;
  config: { budget: Pick<Run['config']['budget'], 'maxDurationS'> };
}

/** When the time of a run is over, by phase. A signal is aborted then. */
export type Deadlines = Readonly<Record<Phase, AbortSignal>>;

/**
 * Returns the deadlines of a run that has started, which are never reached if its time has no limit. The time in which no
 * worker had the run does not count.
 */
export function deadlinesOf({ startedAt, progress: { idleMs = 0 }, config: { budget } }: DatedRun): Deadlines {
  if (budget.maxDurationS === null) return { search: never(), holdout: never() };
  const durationMs = budget.maxDurationS * 1_000;
  const leftMs = (startedAt?.getTime() ?? Date.now()) + idleMs + durationMs - Date.now();
  return { search: after(leftMs), holdout: after(leftMs + Math.max(finalMsMin, durationMs)) };
}

const never = () => new AbortController().signal;

const after = (ms: number) => AbortSignal.timeout(Math.max(0, Math.ceil(ms)));
