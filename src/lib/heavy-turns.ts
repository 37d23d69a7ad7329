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
/**
 * A look at the processor time serves for so long, because it takes as long as the scan of a span. A piece may count as
 * that much less.
 */
const lookMs = 0.5;

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
  return owesTime(sharer) ? sharedThird(sharer)() : undefined;
}

/** Returns whether the next piece of work of a sharer waits for its turn, because its last ones took long. */
export function owesTime(sharer: string): boolean {
  return owedBy(sharer) > owedMsMax;
}

/** Does a piece of work, and remembers that it took long. Throws what `work` throws. */
export function countHeavy<T>(sharer: string, work: () => T): T {
  const startMs = performance.now();
  if (startMs - lastLook.atMs > lookMs) lastLook = lookAtCpu(startMs);
  try {
    return work();
  } finally {
    const endMs = performance.now();
    if (endMs - startMs > lightMsMax) noteLong(sharer, endMs - startMs, lookAtCpu(endMs));
  }
}

/** By the clock, every piece would take long on a busy machine: what the process waited for a processor does not count. */
function noteLong(sharer: string, passedMs: number, end: CpuLook): void {
  const waitedMs = Math.max(0, end.atMs - lastLook.atMs - (end.cpuMs - lastLook.cpuMs));
  const tookMs = Math.min(passedMs - waitedMs, countedMsMax);
  if (tookMs > lightMsMax) debts.set(sharer, { ms: owedBy(sharer) + tookMs, atMs: end.atMs });
}

/** The processor time of all threads at a time by `performance.now()`. */
interface CpuLook {
  atMs: number;
  cpuMs: number;
}

const lookAtCpu = (atMs: number): CpuLook => ({ atMs, cpuMs: processCpuMs() });
let lastLook: CpuLook = { atMs: Number.NEGATIVE_INFINITY, cpuMs: 0 };

function owedBy(sharer: string): number {
  const debt = debts.get(sharer);
  return debt === undefined ? 0 : Math.max(0, debt.ms - (performance.now() - debt.atMs) * paidShare);
}
