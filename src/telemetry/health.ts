import { cachedFor } from '../lib/cached-for.ts';
import { originOf } from '../lib/errors.ts';
import { TimeoutError, within } from '../lib/within.ts';
import { createLatencyRecorder, type LatencySummary } from './latency.ts';

/** A problem with a dependency that does respond. The reason is public. */
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
  /** Why the probe failed: an error code, never a message, because the detail is public. */
  detail?: string;
  /** The problem that the check found although the dependency responded. */
  concern?: Concern;
}

export interface Probe {
  /**
   * Returns the state of the dependency, at most one second old. Never throws and never takes
   * longer than the time-out.
   */
  read(): Promise<ProbeReading>;
  /**
   * Whether the last three checks got no response in time, so that a new request would wait for
   * nothing. A dependency that refuses is not silent.
   */
  readonly isSilent: boolean;
  /** Returns the quantiles of the successful checks of the last minutes. */
  latency(): LatencySummary;
  /**
   * Checks every `everyMs` from now on, so that quantiles exist even when nobody reads the probe.
   */
  start(everyMs: number): void;
  stop(): void;
}

/**
 * Creates the probe of one dependency. However often the probe is read, the dependency gets at most
 * one check per second and one at a time.
 * @param check throws when the dependency is unavailable and may resolve to a {@link Concern}; it
 * must stop when the signal aborts
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
    } catch (thrown) {
      const error = originOf(thrown);
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

/** The health route is public; this cache protects the dependencies from too many checks. */
const cacheMs = 1_000;
const checks = 'checks';
const silentAfter = 3;

/**
 * Returns whether an error is a time-out. This includes the error of knex when no connection of the
 * pool becomes free in time, because all of them wait for a response.
 */
function isTimeout(error: unknown): boolean {
  return (
    error instanceof TimeoutError || (error instanceof Error && /time-?out/i.test(`${error.name} ${error.message}`))
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Za-z0-9_]{1,40}$/.test(code) ? code : 'failed';
}
