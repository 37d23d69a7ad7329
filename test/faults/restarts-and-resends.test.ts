import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { bodyKeyPattern } from '../../src/stores/redis/names.ts';
import type { AppProcess } from '../support/app-process.ts';
import { integerBetween, seededRandom } from '../support/random.ts';
import { expectExactlyOnce, readRawSpans } from '../support/readable.ts';
import { post, SendLog, startLoad } from '../support/sender.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload, singleTraceBody } from '../support/workload.ts';

const rounds = 3;
const exitMsMax = 20_000;
const retryable = ['503', 'ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE'];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack?.stop());

describe('SIGTERM under load', () => {
  it('to API and worker in turn: both end in order, nothing is lost, no job waits for a stall', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('rolling');
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    const tookMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const app of [stack.worker, stack.api]) {
        await delay(integerBetween(random, 300, 900));
        tookMs.push(await terminate(app));
        await app.start();
      }
    }
    const log = await load.finish();
    await stack.untilIdle(30_000);
    await expectExactlyOnce(stack, project, log);
    expect([...log.retried.keys()].filter((failure) => !retryable.includes(failure))).toEqual([]);
    await expectNoneStalled();
    console.log(`SIGTERM: exits took ${tookMs.join(', ')} ms; ${log.acknowledged.size} spans`);
  });

  it('to a worker whose ClickHouse is away: it ends in time and leaves its jobs to the next one', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('stuck');
    const log = new SendLog();
    await stack.engines.clickhouse.kill();
    const body = singleTraceBody(random, 3);
    for (const key of body.spanKeys) log.attempted.add(key);
    expect((await post(stack.apiUrl, project.apiKey, body)).status).toBe(200);
    for (const key of body.spanKeys) log.acknowledged.add(key);
    await until('the job is under way', 30_000, async () => (await stack.ingest.getActiveCount()) > 0);
    const tookMs = await terminate(stack.worker);
    await Promise.all([stack.engines.clickhouse.start(), stack.worker.start()]);
    const drainedMs = await stack.untilIdle(5_000);
    await expectExactlyOnce(stack, project, log);
    await expectNoneStalled();
    console.log(`SIGTERM without ClickHouse: exit took ${tookMs} ms, drained in ${drainedMs} ms`);
  });

  it('to a worker that started while Redis hangs: it waited for nothing, schedules its jobs later, and ends in time', async () => {
    showLogsOnFailure(stack);
    const { queue: name } = jobCatalog.settleUsage;
    const usage = connectQueue(name, stack.redis);
    await terminate(stack.worker);
    await usage.removeJobScheduler('settleUsage');
    const { pid } = stack.engines.redis;
    process.kill(pid, 'SIGSTOP');
    try {
      await stack.worker.start();
      process.kill(pid, 'SIGCONT');
      await until(
        'the job is scheduled',
        30_000,
        async () => (await usage.getJobScheduler('settleUsage')) !== undefined,
      );
      process.kill(pid, 'SIGSTOP');
      await terminate(stack.worker);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await stack.worker.start();
  });
});

describe('a body that is sent again', () => {
  it('20 times at once and once more when it is stored: is stored once, and nothing stays in Redis', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('resend');
    const body = singleTraceBody(random, 7);
    const send = () => post(stack.apiUrl, project.apiKey, body);
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await stack.untilIdle(30_000);
    expect((await send()).status).toBe(200);
    await stack.untilIdle(30_000);
    expect(await readRawSpans(stack, project)).toEqual(body.spanKeys.toSorted());
    await until('Redis holds no bodies', 30_000, async () => {
      return (await stack.redis.keys(bodyKeyPattern)).length === 0;
    });
  });
});

/** Of the jobs that have ended, which say so for ten minutes. */
async function expectNoneStalled(): Promise<void> {
  const keys = await stack.redis.keys(stack.ingest.toKey('b_*'));
  expect(keys.length).toBeGreaterThan(0);
  const stalled = await Promise.all(keys.map((key) => stack.redis.hget(key, 'stc')));
  expect(keys.filter((_, index) => Number(stalled[index]) > 0)).toEqual([]);
}

async function terminate(app: AppProcess): Promise<number> {
  const { code, signal, tookMs } = await app.terminate();
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(tookMs).toBeLessThan(exitMsMax);
  return tookMs;
}
