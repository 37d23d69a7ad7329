import { readFileSync, readlinkSync } from 'node:fs';
import { processCpuMs } from '../lib/time.ts';

/** The number of a thread whose number cannot be known. */
const unknownThread = -1;

/**
 * Stores in `begun[0]` by which number the kernel knows the calling thread, for {@link threadCpuMs}. The number is not 0.
 */
export function noteThreadBegins(begun: Int32Array): void {
  Atomics.store(begun, 0, ownThread());
}

/** Returns the thread of `/proc/thread-self` (proc(5): "<pid>/task/<tid>"), which only Linux has. */
function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || unknownThread;
  } catch {
    return unknownThread;
  }
}

/**
 * Returns the CPU time of a thread of this process in milliseconds (proc(5): the first number of `schedstat` is its time
 * in nanoseconds). Where that is not known, the time of all threads of the process: never less.
 */
export function threadCpuMs(thread: number): number {
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return processCpuMs();
  }
}
