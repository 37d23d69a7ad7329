import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/**
 * Makes each thread collect its own garbage. By default V8 collects the young objects of all
 * threads in helper threads of normal priority, even for threads of low priority, so large work
 * takes a third more of the processor from other work than intended. Import it before threads are
 * created.
 */
setFlagsFromString('--no-parallel-scavenge');
/** A third of the weight of an event loop (sched(7): 335 of 1024). */
const helperNice = 5;
lowerHelpers();

/**
 * Lets event loops go before the helper threads of V8, which mark and sweep the old objects of all threads. On Linux
 * a nice value belongs to a thread, and at this time all threads but the main one are helpers.
 */
function lowerHelpers(): void {
  if (process.platform !== 'linux') return;
  try {
    const threads = readdirSync('/proc/self/task').map(Number);
    for (const thread of threads) if (thread !== process.pid) setPriority(thread, helperNice);
  } catch {
    // A container may forbid the call. The process runs correctly without it.
  }
}
