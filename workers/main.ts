import '../src/runtime/own-garbage.ts';
import '../src/runtime/small-heap.ts';
import { hostname, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordPromptEvents } from '../src/api/prompt-events.ts';
import { configOrExit } from '../src/cli/config-or-exit.ts';
import { createStoring } from '../src/domains/ingestion/jobs.ts';
import { loadOptimizationJobs, type OptimizationJobs } from '../src/domains/optimization/jobs.ts';
import { startSummaryLane } from '../src/domains/summaries/jobs.ts';
import { startWebhookLane } from '../src/domains/webhooks/jobs.ts';
import { within } from '../src/lib/within.ts';
import { connectQueue } from '../src/queue/connect-queue.ts';
import { ingestLanes } from '../src/queue/ingest-lanes.ts';
import { jobCatalog } from '../src/queue/job-catalog.ts';
import { connectOptimizationQueue } from '../src/queue/optimization-queue.ts';
import { RedisClock } from '../src/queue/redis-clock.ts';
import { removeWorkerFigures, writeWorkerFigures } from '../src/queue/worker-figures.ts';
import { onStopSignal } from '../src/runtime/on-stop-signal.ts';
import { endOnWrongTopology } from '../src/stores/clickhouse/require-topology.ts';
import { createLatencyRecorder } from '../src/telemetry/latency.ts';
import { version } from '../src/version.ts';
import { BodyProgress } from './body-progress.ts';
import { connectClients } from './clients.ts';
import { IsolatedProcess } from './isolation/isolated-process.ts';
import { MemoryReserve } from './memory-reserve.ts';
import { startWorkers } from './start-workers.ts';
import { startWatchdog } from './watchdog.ts';

/**
 * Time for jobs in progress to finish, longer than ClickHouse gets to answer. After it they are
 * left to stall.
 */
const drainMs = 16_000;
const farewellMs = 1_000;
const clockMsMax = 1_000;
/** Less than the job lock: a worker that is blocked for longer has lost its jobs anyway. */
const silenceMaxS = 5;
const figuresEveryMs = 1_000;
/** A third of the weight of the API and of queries on the same machine (sched(7): 335 of 1024). */
const niceValue = 5;

yieldToRequests();
const config = configOrExit();
const clients = connectClients(config, 'worker');
const { logger, redis } = clients;
/** Ends what the worker does. Before it takes jobs, it does nothing that must end in order. */
let drain: (() => Promise<void>) | undefined;
onStopSignal(async (signal) => {
  logger.info({ signal }, 'draining');
  await drain?.();
});

await endOnWrongTopology(clients.clickhouse, config.clickhouseUrl);
const clock = new RedisClock();
// Without Redis there are no jobs whose times matter.
await within(clockMsMax, () => clock.look(redis)).catch(() => undefined);

// From here on nothing waits, so that no jobs are in progress without what watches over them and ends them.
const storing = createStoring(clients);
const latency = createLatencyRecorder();
const isolated = new IsolatedProcess();
const workerId = `${hostname()}:${process.pid}`;
let storedSpans = 0;
const ingest = ingestLanes.map((lane) => connectQueue(lane, redis));
const reserve = new MemoryReserve({ redis, ingest, logger });
reserve.start();
const progress = new BodyProgress();

const optimizationQueue = connectOptimizationQueue(redis);
let optimization: Promise<OptimizationJobs> | undefined;

const workers = startWorkers(
  {
    ...clients,
    defaultPlan: config.defaultPlan,
    ...storing,
    latency,
    isolated,
    clock,
    ingest,
    reserve,
    progress: {
      begin: () => progress.begin(clock.nowMs()),
      end: (done) => progress.end(clock.nowMs(), done),
    },
    optimization: () => {
      optimization ??= loadOptimizationJobs({ ...clients, clock, changed: recordPromptEvents });
      return optimization;
    },
    enqueueRuns: (runs) => optimizationQueue.add(runs),
    isolation: connectQueue(jobCatalog.isolateBody.queue, redis),
    countStored: (spans) => {
      storedSpans += spans;
    },
  },
  config.redisUrl,
);
const summaries = startSummaryLane({
  ...clients,
  logProjects: storing.logProjects,
  clickhouseUrl: config.clickhouseUrl,
});
const webhooks = startWebhookLane({ ...clients, ...config, policy: config.webhookTargets, version });
const watchdog = startWatchdog(silenceMaxS);
const figures = setInterval(() => {
  const freshnessP95Ms = latency.summary('freshness').p95_ms;
  const { busySinceMs } = progress;
  clock
    .look(redis)
    .then(() => writeWorkerFigures(redis, { workerId, atMs: clock.nowMs(), freshnessP95Ms, storedSpans, busySinceMs }))
    .catch(() => undefined);
}, figuresEveryMs);
drain = async () => {
  clearInterval(figures);
  reserve.stop();
  const drained = Promise.all([workers.close(), summaries.close(), webhooks.close()]);
  clients.stop();
  isolated.close();
  for (const batcher of Object.values(storing.batchers)) batcher.flush();
  await Promise.race([drained, sleep(drainMs)]);
  watchdog.stop();
  // An unavailable dependency would delay this forever.
  await within(farewellMs, async () => {
    await removeWorkerFigures(redis, workerId);
    await Promise.all([storing.close(), optimization?.then((jobs) => jobs.close())]);
    await clients.close();
  }).catch(() => undefined);
};
logger.info('working');

/** Lets people who wait for an answer go before spans that are to be stored. */
function yieldToRequests(): void {
  try {
    setPriority(niceValue);
  } catch {
    // A container may forbid the call. The worker runs correctly without it.
  }
}
