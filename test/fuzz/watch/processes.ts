import { setTimeout as delay } from 'node:timers/promises';
import type { Stack } from '../../support/stack.ts';
import type { Findings } from '../findings.ts';
import type { Flight, Flights } from './flights.ts';
import { isOwnWork, type LoopDelays, type Stall } from './loop-delay.ts';

export type ProcessName = 'api' | 'worker';

/** A stall, and the requests that may have caused it. */
export interface Suspicion {
  process: ProcessName;
  stall: Stall;
  suspects: readonly Flight[];
}

const lookEveryMs = 250;
/** A body can wait this long before the worker takes it. */
const workerLagMs = 5_000;
/** Tolerance for differences between clocks, and for the time until the client receives a response. */
const slackMs = 30;

/**
 * Checks API and worker until `stop`. Each end of a process is a finding. Each stall is a
 * suspicion. A process that ends is started again.
 */
export function watchProcesses(
  stack: Stack,
  delays: LoopDelays,
  { flights, findings, stallMsMax }: { flights: Flights; findings: Findings; stallMsMax: number },
) {
  const suspicions: Suspicion[] = [];
  const deathTimesMs: number[] = [];
  let stallsOfOthers = 0;
  const stopping = new AbortController();
  const stopReviving = (['api', 'worker'] as const).map((name) => stack[name].keepAlive());
  const pids = { api: stack.api.pid, worker: stack.worker.pid };
  for (const pid of Object.values(pids)) delays.take(pid);

  function suspectsOf(process: ProcessName, fromMs: number, toMs: number): Flight[] {
    return process === 'api'
      ? flights.within(fromMs - slackMs, toMs + slackMs)
      : ingestedWithin(fromMs - workerLagMs, toMs + slackMs);
  }

  function ingestedWithin(fromMs: number, toMs: number): Flight[] {
    return flights.ingested().filter(({ startedAtMs, endedAtMs = 0 }) => startedAtMs <= toMs && endedAtMs >= fromMs);
  }

  function look(process: ProcessName): void {
    for (const stall of delays.take(pids[process])) {
      if (stall.ms <= stallMsMax) continue;
      if (!isOwnWork(stall, stallMsMax)) stallsOfOthers++;
      else
        suspicions.push({ process, stall, suspects: suspectsOf(process, stall.endedAtMs - stall.ms, stall.endedAtMs) });
    }
    const { pid } = stack[process];
    if (pid === pids[process]) return;
    const nowMs = Date.now();
    deathTimesMs.push(nowMs);
    const suspects = suspectsOf(process, nowMs - 20_000, nowMs);
    findings.add(
      'restart',
      `the ${process} process ended`,
      stack[process].logTail(6),
      suspects.map(({ request }) => request),
    );
    pids[process] = pid;
  }

  const looking = (async () => {
    while (!stopping.signal.aborted) {
      look('api');
      look('worker');
      await delay(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  return {
    suspicions,
    /** Times at which an end of a process was noticed, as values of `Date.now()`. */
    deathTimesMs,
    /** Number of stalls in which the process waited for a processor. */
    stallsOfOthers: () => stallsOfOthers,
    async stop() {
      stopping.abort();
      await looking;
      for (const process of ['api', 'worker'] as const) look(process);
      for (const stop of stopReviving) stop();
    },
  };
}
