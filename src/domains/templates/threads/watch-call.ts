import { processCpuMs } from '../../../lib/time.ts';

const lookEveryMs = 25;
/** A longer gap between two checks means that the whole process was suspended. */
const stoodStillMs = 250;

/**
 * Aborts when the thread has run for `limitMs` since `started` became 1, or when `started` is not 1
 * within `waitMsMax`. Running time is at most the CPU time that the process used meanwhile. So a
 * thread gets its time on a busy machine too, within `passedMsMax`.
 */
export function watchCall(
  started: Int32Array,
  { limitMs, passedMsMax, waitMsMax }: { limitMs: number; passedMsMax: number; waitMsMax: number },
  controller: AbortController,
): { stop: () => void } {
  let [waitedMs, passedMs, ranMs] = [0, 0, 0];
  let [lookedAtMs, cpuMs] = [performance.now(), processCpuMs()];
  const look = () => {
    const [nowMs, cpuNowMs] = [performance.now(), processCpuMs()];
    const sinceMs = nowMs - lookedAtMs > stoodStillMs ? lookEveryMs : nowMs - lookedAtMs;
    if (Atomics.load(started, 0) === 0) waitedMs += sinceMs;
    else {
      passedMs += sinceMs;
      ranMs += Math.min(sinceMs, cpuNowMs - cpuMs);
    }
    [lookedAtMs, cpuMs] = [nowMs, cpuNowMs];
    if (ranMs >= limitMs || passedMs >= passedMsMax || waitedMs >= waitMsMax) controller.abort();
    else timer = setTimeout(look, lookEveryMs);
  };
  let timer = setTimeout(look, lookEveryMs);
  return { stop: () => clearTimeout(timer) };
}
