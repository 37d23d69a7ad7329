import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimitedError, StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';

/** Between two tries while a store is unavailable, or a thread is busy. */
const restMs = 500;
/** A statement that waits for a lock succeeds later. One that always takes too long never does. */
const slowTriesMax = 4;

/**
 * Repeats what a store or a busy thread could not do, until it can. It must be safe to run twice.
 * @throws StatementTooSlowError after four statements that took too long
 * @throws the reason of the signal once it is aborted, and other errors of `run`
 */
export async function patiently<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  let slowTries = 0;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (error instanceof StatementTooSlowError) slowTries += 1;
      if (slowTries === slowTriesMax) throw error;
      if (!(error instanceof UnavailableError || error instanceof RateLimitedError)) throw error;
    }
    signal.throwIfAborted();
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}
