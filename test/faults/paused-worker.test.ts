import { Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { dropBody } from '../../src/queue/drop-body.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';
import { queuePrefix } from '../../src/stores/redis/names.ts';
import { seededRandom } from '../support/random.ts';
import { post } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

const bodies = 5;
/** Less than the lock of a body, 12 s, of which 2 s may be over before it is renewed. */
const shortPauseMs = 8_500;

describe('a worker that lost the locks of its jobs in a pause', () => {
  let stack: Stack;
  let postgres: Postgres;
  beforeAll(async () => {
    stack = await startStack();
    postgres = connectPostgres(stack.engines.postgres.url, 2);
  });
  afterAll(async () => {
    await postgres?.destroy();
    await stack?.stop();
  });

  it('leaves the bodies alone that another worker has stored meanwhile: none is in the quarantine', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('paused');
    // Prices are read before a body is: with their table locked, the jobs are under way and have no body yet.
    const lock = await postgres.transaction();
    await lock.raw('lock table model_prices in access exclusive mode');
    await sendBodies(project);
    await until('the jobs are under way', 20_000, async () => (await stack.ingest.getActiveCount()) === bodies);
    stack.worker.signal('SIGSTOP');
    await loseLocks(await idsInProgress());
    const other = startOtherWorker();
    await until('the other worker has ended them', 30_000, () => other.ended.size === bodies);
    await lock.rollback();
    stack.worker.signal('SIGCONT');
    await until('the paused worker has noticed', 20_000, () => {
      return stack.worker.log().split('another worker has finished this body').length - 1 >= bodies;
    });
    expect(await postgres('quarantined_bodies').where({ project_id: project.id })).toEqual([]);
    await other.close();
  });

  it('is not one that its bodies have ended: after two pauses and one kill, none is tried alone', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('paused twice');
    const clickhouse = (signal: NodeJS.Signals) => process.kill(stack.engines.clickhouse.pid, signal);
    const jobs = () => stack.ingest.getJobs(['active', 'prioritized']);
    const triedAlone = () => stack.redis.xlen(stack.isolation.toKey('events'));
    const before = await triedAlone();
    clickhouse('SIGSTOP');
    onTestFinished(() => void clickhouse('SIGCONT'));
    await sendBodies(project);
    await until('the jobs are under way', 20_000, async () => (await stack.ingest.getActiveCount()) === bodies);
    const ids = await idsInProgress();
    for (const pauses of [1, 2]) {
      stack.worker.signal('SIGSTOP');
      await loseLocks(ids);
      stack.worker.signal('SIGCONT');
      await until('the jobs have come again', 20_000, async () => {
        const stalls = (await jobs()).map(({ stalledCounter }) => stalledCounter);
        return stalls.every((count) => count >= pauses) && (await stack.redis.exists(...locksOf(ids))) === bodies;
      });
    }
    await stack.worker.kill();
    clickhouse('SIGCONT');
    await stack.worker.start();
    await stack.untilIdle(30_000);
    expect(await triedAlone()).toBe(before);
  });

  it('for less than the lock of a body, keeps its bodies: another worker does not start them as well', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('paused shortly');
    const clickhouse = (signal: NodeJS.Signals) => process.kill(stack.engines.clickhouse.pid, signal);
    const starts = async () => {
      const events = await stack.redis.xrange(stack.ingest.toKey('events'), '-', '+');
      return events.filter(([, fields]) => fields[fields.indexOf('event') + 1] === 'active').length;
    };
    const before = await starts();
    clickhouse('SIGSTOP');
    onTestFinished(() => void clickhouse('SIGCONT'));
    await sendBodies(project);
    await until('the jobs are under way', 20_000, async () => (await stack.ingest.getActiveCount()) === bodies);
    const other = await stack.startWorker();
    stack.worker.signal('SIGSTOP');
    const pausedAtMs = Date.now();
    await until('the pause is over', 20_000, () => Date.now() - pausedAtMs > shortPauseMs);
    stack.worker.signal('SIGCONT');
    clickhouse('SIGCONT');
    await stack.untilIdle(30_000);
    expect((await starts()) - before).toBe(bodies);
    await other.kill();
  });

  async function idsInProgress(): Promise<string[]> {
    return (await stack.ingest.getActive()).map(({ id }) => String(id));
  }

  const locksOf = (ids: readonly string[]) => ids.map((id) => `${stack.ingest.toKey(id)}:lock`);

  /** What a pause of 12 s does, which is longer than Postgres lets a statement wait. */
  async function loseLocks(ids: readonly string[]): Promise<void> {
    await stack.redis.del(...locksOf(ids));
  }

  async function sendBodies(project: Project): Promise<void> {
    const random = seededRandom();
    for (let sent = 0; sent < bodies; sent++) {
      expect((await post(stack.apiUrl, project.apiKey, singleTraceBody(random, 2))).status).toBe(200);
    }
  }

  /** Ends every job at once, as one that has stored its spans does. */
  function startOtherWorker() {
    const ended = new Set<string>();
    const connection = connectWorkerRedis(stack.engines.redis.url);
    const worker = new Worker(stack.ingest.name, async () => 'stored', {
      ...{ connection, prefix: queuePrefix(stack.ingest.name), stalledInterval: 1_000, maxStalledCount: 1_000 },
    });
    const queues = { ingest: [stack.ingest, stack.ingestLarge], isolation: stack.isolation };
    worker.on('completed', async (job) => {
      const body = { projectId: job.data.projectId, jobId: String(job.id) };
      if (await dropBody(stack.redis, queues, body)) ended.add(body.jobId);
    });
    const close = async () => {
      await worker.close();
      connection.disconnect();
    };
    return { ended, close };
  }
});
