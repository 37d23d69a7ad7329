import { constants, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';

/**
 * Gives the calling thread a tenth of the processor while threads of ordinary priority want it (sched(7): nice 10 weighs 110, nice 0
 * weighs 1024): for long work beside an event loop. On Linux a nice value is that of a thread (setpriority(2), "C library/kernel differences"); elsewhere it would be that
 * of the whole process, so nothing is done there, nor on the main thread.
 */
export function lowerThreadPriority(): void {
  if (isMainThread || process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A container may forbid the call; the work is the same without it.
  }
}
