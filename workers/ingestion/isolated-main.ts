import { readConfig } from '../../src/config.ts';
import { startWatchdog } from '../watchdog.ts';
import { createIngestion } from '../worker-container.ts';
import { ingestBody, isHopeless } from './ingest-body.ts';
import type { IsolatedOutcome, IsolatedTask } from './isolated-process.ts';

/** More patient than the worker's: what is killed here ends in quarantine. */
const silenceMaxS = 8;
/** A body alone has nothing to wait for. */
const ingestion = createIngestion(readConfig(), 'worker-isolated', 0);
startWatchdog(silenceMaxS);

process.on('message', async ({ jobId, payload }: IsolatedTask) => {
  process.send?.(await run(jobId, payload));
});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined); // The worker decides when this ends.

async function run(jobId: string, payload: IsolatedTask['payload']): Promise<IsolatedOutcome> {
  try {
    await ingestBody(ingestion, jobId, payload);
    return { outcome: 'stored' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    return { outcome: isHopeless(error) ? 'hopeless' : 'failed', reason };
  }
}
