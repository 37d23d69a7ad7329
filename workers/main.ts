import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { readConfig } from '../src/config.ts';
import { jobCatalog } from '../src/queue/job-catalog.ts';
import { removeWorkerFigures, writeWorkerFigures } from '../src/queue/worker-figures.ts';
import { createLatencyRecorder } from '../src/telemetry/latency.ts';
import { IsolatedProcess } from './ingestion/isolated-process.ts';
import { startWorkers } from './start-workers.ts';
import { startWatchdog } from './watchdog.ts';
import { createIngestion } from './worker-container.ts';

/** Jobs under way get this long to finish; then those that wait for an engine go back to the queue. */
const drainMs = 14_000;
const abandonMs = 5_000;
const figuresEveryMs = 1_000;

const config = readConfig();
const ingestion = createIngestion(config, 'worker');
const { logger, redis } = ingestion;
const latency = createLatencyRecorder();
const isolated = new IsolatedProcess();
const workerId = `${hostname()}:${process.pid}`;
let storedSpans = 0;

const workers = await startWorkers(
  {
    ...ingestion,
    latency,
    isolated,
    ingest: new Queue(jobCatalog.ingestBody.queue, { connection: redis }),
    isolation: new Queue(jobCatalog.isolateBody.queue, { connection: redis }),
    countStored: (spans) => {
      storedSpans += spans;
    },
  },
  config.redisUrl,
);
const watchdog = startWatchdog();
const figures = setInterval(() => {
  const freshnessP95Ms = latency.summary('freshness').p95_ms;
  writeWorkerFigures(redis, workerId, { atMs: Date.now(), freshnessP95Ms, storedSpans }).catch(() => undefined);
}, figuresEveryMs);
logger.info('working');

let stopping = false;
async function stop(signal: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  logger.info({ signal }, 'draining');
  clearInterval(figures);
  const drained = workers.close();
  ingestion.batcher.flush();
  await Promise.race([drained, sleep(drainMs)]);
  ingestion.stop();
  await Promise.race([drained, sleep(abandonMs).then(() => workers.abandon())]);
  isolated.close();
  watchdog.stop();
  await removeWorkerFigures(redis, workerId).catch(() => undefined);
  await ingestion.close();
  process.exit(0);
}

process.on('SIGTERM', () => void stop('SIGTERM'));
process.on('SIGINT', () => void stop('SIGINT'));
