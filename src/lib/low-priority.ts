import { constants, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';

/**
 * Lets the calling thread run only when no other thread of the process wants the processor, more or less: for long work beside an
 * event loop. On Linux a nice value is that of a thread (setpriority(2), "C library/kernel differences"); elsewhere it would be that
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
