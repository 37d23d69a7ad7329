import { threadCpuMs } from './thread-time.ts';

const lookEveryMs = 25;
/** A longer gap between two checks means that the whole process was suspended. */
const stoodStillMs = 250;

export interface ThreadLimits {
  /** CPU time of the thread, in milliseconds. */
  limitMs: number;
  /** Time that may pass meanwhile: a thread gets its CPU time on a busy machine too. */
  passedMsMax: number;
  /** Time until the thread begins. */
  waitMsMax: number;
}

export interface ThreadWatch {
  /** Aborted when a limit is exceeded. */
  readonly signal: AbortSignal;
  /** Whether the thread has begun. */
  hasBegun(): boolean;
  /** Whether the thread has used its CPU time, and not only let time pass. */
  hasWorked(): boolean;
  abort(): void;
  stop(): void;
}

/** Watches a thread that calls `noteThreadBegins` with `begun` when it begins to work. */
export function watchThread(begun: Int32Array, { limitMs, passedMsMax, waitMsMax }: ThreadLimits): ThreadWatch {
  const controller = new AbortController();
  let [waitedMs, passedMs, ranMs] = [0, 0, 0];
  let lookedAtMs = performance.now();
  let cpuMs: number | undefined;
  const look = () => {
    const nowMs = performance.now();
    const sinceMs = nowMs - lookedAtMs > stoodStillMs ? lookEveryMs : nowMs - lookedAtMs;
    lookedAtMs = nowMs;
    const thread = Atomics.load(begun, 0);
    if (thread === 0) waitedMs += sinceMs;
    else {
      const cpuNowMs = threadCpuMs(thread);
      passedMs += sinceMs;
      // What it used before the first look is not known.
      ranMs += Math.min(sinceMs, cpuMs === undefined ? lookEveryMs : cpuNowMs - cpuMs);
      cpuMs = cpuNowMs;
    }
    if (ranMs >= limitMs || passedMs >= passedMsMax || waitedMs >= waitMsMax) controller.abort();
    else timer = setTimeout(look, lookEveryMs);
  };
  let timer = setTimeout(look, lookEveryMs);
  return {
    signal: controller.signal,
    hasBegun: () => Atomics.load(begun, 0) !== 0,
    hasWorked: () => ranMs >= limitMs,
    abort: () => controller.abort(),
    stop: () => clearTimeout(timer),
  };
}
