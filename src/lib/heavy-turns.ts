import { LRUCache } from 'lru-cache';
import { sharedThird } from './pace.ts';
import { processCpuMs } from './time.ts';

/** Most pieces of work take a tenth of that. Only what takes longer counts. */
const lightMsMax = 1;
/** A piece counts at most as this, because it may have met a garbage collection. */
const countedMsMax = 40;
/** Who owes no more than this goes on at once. */
const owedMsMax = 5;
/** The share of the event loop at which what is owed is paid back. */
const paidShare = 1 / 3;
const sharersMax = 5_000;

/** Milliseconds that sharers owed at a time by `performance.now()`. Shared by all work of this thread. */
const debts = new LRUCache<string, { ms: number; atMs: number }>({ max: sharersMax });

/**
 * Does a piece of work on the event loop that mostly takes less than a millisecond, and sometimes 25. A sharer, which is a
 * workspace, may have a dozen in progress, and begin hundreds in a second: after long ones, its next pieces share a third
 * of the event loop with other large work, until their time has passed three times. Throws what `work` throws.
 */
export async function inHeavyTurn<T>(sharer: string, work: () => T): Promise<T> {
  const turn = heavyTurn(sharer);
  // Light work begins at once.
  if (turn !== undefined) await turn;
  return countHeavy(sharer, work);
}

/** Waits for the turn of a sharer that owes time: call it while the work still has a place in a lane, which bounds what waits. */
export function heavyTurn(sharer: string): Promise<void> | undefined {
  return owedBy(sharer) > owedMsMax ? sharedThird(sharer)() : undefined;
}

/** Does a piece of work, and remembers that it took long. Throws what `work` throws. */
export function countHeavy<T>(sharer: string, work: () => T): T {
  const [startMs, startCpuMs] = [performance.now(), processCpuMs()];
  try {
    return work();
  } finally {
    // By the clock, every piece would take long on a busy machine. Processor time is that of all threads.
    const tookMs = Math.min(processCpuMs() - startCpuMs, performance.now() - startMs, countedMsMax);
    if (tookMs > lightMsMax) debts.set(sharer, { ms: owedBy(sharer) + tookMs, atMs: performance.now() });
  }
}

function owedBy(sharer: string): number {
  const debt = debts.get(sharer);
  return debt === undefined ? 0 : Math.max(0, debt.ms - (performance.now() - debt.atMs) * paidShare);
}
