import { constants, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';

/**
 * Gives the calling thread a tenth of the processor while threads of normal priority want it
 * (sched(7): nice 10 weighs 110, nice 0 weighs 1024). For long work beside an event loop. On Linux
 * a nice value belongs to a thread (setpriority(2), "C library/kernel differences"). Elsewhere it
 * belongs to the whole process, so nothing is done there, nor on the main thread.
 */
export function lowerThreadPriority(): void {
  if (isMainThread || process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A container may forbid the call. The work runs correctly without it.
  }
}
