import { LRUCache } from 'lru-cache';
import { sharedThird } from '../../lib/pace.ts';
import { processCpuMs } from '../../lib/time.ts';

/** Most renders take a tenth of that. */
const lightMsMax = 1;
/** How much the last render counts in the average, and for how many milliseconds at most: it may have met a garbage collection. */
const lastWeight = 0.2;
const countedMsMax = 10;
const workspacesMax = 5_000;

/** Milliseconds of processor time that the last renders of a workspace took on average. Shared by all workspaces of the process. */
const averageMs = new LRUCache<string, number>({ max: workspacesMax });

/**
 * Renders on the event loop. A render may take 25 ms, and a workspace may have a dozen in progress: while its renders
 * take long on average, they share a third of the event loop with other large work, so that others run in between.
 * Throws what `render` throws.
 */
export async function renderInTurn<T>(workspaceId: string, render: () => T): Promise<T> {
  if ((averageMs.get(workspaceId) ?? 0) > lightMsMax) await sharedThird(workspaceId)();
  const startCpuMs = processCpuMs();
  try {
    return render();
  } finally {
    // By the clock, every render would take long on a busy machine.
    const tookMs = Math.min(processCpuMs() - startCpuMs, countedMsMax);
    const before = averageMs.get(workspaceId) ?? 0;
    averageMs.set(workspaceId, before + (tookMs - before) * lastWeight);
  }
}
