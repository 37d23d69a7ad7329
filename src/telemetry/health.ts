import { cachedFor } from '../lib/cached-for.ts';
import { TimeoutError, within } from '../lib/within.ts';
import { createLatencyRecorder, type LatencySummary } from './latency.ts';

/** What a check finds wrong with a dependency that answers. Everybody may read the reason. */
export class Concern {
  readonly status: 'degraded' | 'down';
  readonly reason: string;

  constructor(status: 'degraded' | 'down', reason: string) {
    this.status = status;
    this.reason = reason;
  }
}

export interface ProbeReading {
  ok: boolean;
  latencyMs: number;
  /** Why it is not ok: an error code, never a message, because everybody may read it. */
  detail?: string;
  /** What the check found wrong although the dependency answered. */
  concern?: Concern;
}

export interface Probe {
  /** The state of the dependency, at most a second old; never throws and never takes longer than the time-out. */
  read(): Promise<ProbeReading>;
  /** Whether the last three checks got no answer in time: whoever asks the dependency now waits in vain. One that refuses is not silent. */
  readonly isSilent: boolean;
  /** Quantiles over the successful checks of the last minutes. */
  latency(): LatencySummary;
  /** Checks every `everyMs` from now on, so that there are quantiles when nobody asks. */
  start(everyMs: number): void;
  stop(): void;
}

/**
 * Watches one dependency. However often it is read, the dependency sees one check a second and one at a time.
 * @param check throws when the dependency is unavailable, may resolve to a {@link Concern}; must let go when the signal aborts
 */
export function createProbe({
  check,
  timeoutMs = 1_000,
}: {
  check: (signal: AbortSignal) => Promise<unknown>;
  timeoutMs?: number;
}): Probe {
  const recorder = createLatencyRecorder();
  let unanswered = 0;
  const read = cachedFor(cacheMs, async (): Promise<ProbeReading> => {
    const startedAtMs = performance.now();
    const elapsedMs = () => Math.round((performance.now() - startedAtMs) * 100) / 100;
    let found: unknown;
    try {
      found = await within(timeoutMs, check);
      unanswered = 0;
    } catch (error) {
      unanswered = isTimeout(error) ? unanswered + 1 : 0;
      return { ok: false, latencyMs: elapsedMs(), detail: codeOf(error) };
    }
    const latencyMs = elapsedMs();
    recorder.record(checks, latencyMs);
    return found instanceof Concern ? { ok: false, latencyMs, concern: found } : { ok: true, latencyMs };
  });
  let timer: NodeJS.Timeout | undefined;
  return {
    read,
    get isSilent() {
      return unanswered >= silentAfter;
    },
    latency: () => recorder.summary(checks),
    start(everyMs) {
      clearInterval(timer);
      timer = setInterval(() => void read(), everyMs).unref();
      void read();
    },
    stop: () => clearInterval(timer),
  };
}

/** Health may be asked by anybody; this keeps it from hammering the engines. */
const cacheMs = 1_000;
const checks = 'checks';
const silentAfter = 3;

/** Also of a pool whose connections all wait for an answer: knex's error when none is free in time. */
function isTimeout(error: unknown): boolean {
  return (
    error instanceof TimeoutError || (error instanceof Error && /time-?out/i.test(`${error.name} ${error.message}`))
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Za-z0-9_]{1,40}$/.test(code) ? code : 'failed';
}
