import { readConfig } from '../../src/config.ts';
import { createStoring, ingestBody, isHopeless, isKnownToPass } from '../../src/domains/ingestion/jobs.ts';
import { connectClients } from '../clients.ts';
import { startWatchdog } from '../watchdog.ts';
import type { IsolatedOutcome, IsolatedTask } from './isolated-process.ts';

/** More than the limit of the worker, because a body that is killed here ends in quarantine. */
const silenceMaxS = 8;
/**
 * A body that waits for an unavailable dependency gives its place to the next one after this time.
 * A wait for Redis or an insert ends a little later.
 */
const patienceMs = 20_000;
const clients = connectClients(readConfig(), 'worker-isolated');
/** A batch waits 0 ms: a body alone has no other rows to wait for. */
const storing = createStoring(clients, 0);
startWatchdog(silenceMaxS);

process.on('message', async ({ jobId, payload }: IsolatedTask) => {
  const patience = setTimeout(giveUpWaiting, patienceMs);
  const outcome = await run(jobId, payload);
  clearTimeout(patience);
  process.send?.(outcome);
});
process.on('disconnect', () => process.exit(0));
// The worker may have died while this process started.
if (!process.connected) process.exit(0);
process.on('SIGINT', () => undefined); // The worker decides when this process ends.

async function run(jobId: string, payload: IsolatedTask['payload']): Promise<IsolatedOutcome> {
  try {
    await ingestBody(storing, { id: jobId, isRepeated: true }, payload);
    return { outcome: 'stored' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    return { outcome: isHopeless(error) ? 'hopeless' : isKnownToPass(error) ? 'waiting' : 'failed', reason };
  }
}

/**
 * Aborts waits for ClickHouse, so that the body ends as `waiting`. A wait for Redis would never
 * end, so it is reported here.
 */
function giveUpWaiting(): void {
  clients.stop();
  if (clients.redis.status === 'ready') return;
  process.send?.({ outcome: 'waiting', reason: 'Redis is unavailable' } satisfies IsolatedOutcome);
}
