const lookEveryMs = 25;
/** More than this between two looks, and it was the process that did not run. */
const stoodStillMs = 250;
const overtime = 2;

/**
 * Aborts when the thread has run for `limitMs` since `started` became 1, or did not take the call up within `waitMsMax`. What counts is
 * no more than what all of this process ran: on a busy machine a thread gets its time nevertheless, up to twice the limit.
 */
export function watchCall(
  started: Int32Array,
  { limitMs, waitMsMax }: { limitMs: number; waitMsMax: number },
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
    if (ranMs >= limitMs || passedMs >= overtime * limitMs || waitedMs >= waitMsMax) controller.abort();
    else timer = setTimeout(look, lookEveryMs);
  };
  let timer = setTimeout(look, lookEveryMs);
  return { stop: () => clearTimeout(timer) };
}

/** Of all threads. */
function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
