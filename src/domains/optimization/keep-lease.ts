import { setTimeout as sleep } from 'node:timers/promises';
import type { Postgres } from '../../stores/postgres/client.ts';
import { RunFailed } from '../prompt-search/index.ts';
import { Cancelled, type Lease, LeaseLost } from './lease.ts';
import { renewLease } from './lease-store.ts';

const renewEveryMs = 1_000;
/** After a renewal that failed. When Postgres is back, `resumeRuns` gives the holders of leases 1.5 s. */
const retryMs = 100;

/** Waits for so many milliseconds, or until the signal is aborted. */
type Wait = (ms: number, signal: AbortSignal) => Promise<void>;
const wait: Wait = (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Renews a lease until the signal is aborted, because the run has ended, or the lease is lost. Once a second it also
 * learns whether the run goes on; `stop` gets the reason each time it does not: {@link Cancelled}, {@link LeaseLost}, or
 * a deleted prompt. The lease of a stopped run is renewed as well: no other worker may take it before it has ended.
 */
export async function keepLease(
  postgres: Postgres,
  lease: Lease,
  { signal, stop, pause = wait }: { signal: AbortSignal; stop: (reason: Error) => void; pause?: Wait },
): Promise<void> {
  while (!signal.aborted) {
    // While Postgres is unavailable, nobody else can take the run either.
    const pulse = await renewLease(postgres, lease).catch(() => null);
    if (signal.aborted) return;
    if (pulse === undefined) {
      stop(new LeaseLost());
      return;
    }
    if (pulse?.state === 'cancelling') stop(new Cancelled());
    else if (pulse?.promptDeleted) stop(new RunFailed('prompt_deleted', 'The prompt was deleted during the run'));
    await pause(pulse === null ? retryMs : renewEveryMs, signal);
  }
}
