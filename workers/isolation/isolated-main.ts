import { readConfig } from '../../src/config.ts';
import { ingestBody, isHopeless, isKnownToPass } from '../../src/domains/ingestion/index.ts';
import { startWatchdog } from '../watchdog.ts';
import { createIngestion } from '../worker-container.ts';
import type { IsolatedOutcome, IsolatedTask } from './isolated-process.ts';

/** More patient than the worker's: what is killed here ends in quarantine. */
const silenceMaxS = 8;
/** After this long a body that waits for an engine gives its place to the next one. Redis and an insert are given up a little later. */
const patienceMs = 20_000;
/** A body alone has nothing to wait for. */
const ingestion = createIngestion(readConfig(), 'worker-isolated', 0);
startWatchdog(silenceMaxS);

process.on('message', async ({ jobId, payload }: IsolatedTask) => {
  const patience = setTimeout(giveUpWaiting, patienceMs);
  const outcome = await run(jobId, payload);
  clearTimeout(patience);
  process.send?.(outcome);
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined); // The worker decides when this ends.

async function run(jobId: string, payload: IsolatedTask['payload']): Promise<IsolatedOutcome> {
  try {
    await ingestBody(ingestion, jobId, payload);
    return { outcome: 'stored' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    return { outcome: isHopeless(error) ? 'hopeless' : isKnownToPass(error) ? 'waiting' : 'failed', reason };
  }
}

/** What waits for ClickHouse fails now, as waiting; what waits for Redis would never answer. */
function giveUpWaiting(): void {
  ingestion.stop();
  if (ingestion.redis.status === 'ready') return;
  process.send?.({ outcome: 'waiting', reason: 'Redis is unavailable' } satisfies IsolatedOutcome);
}
