import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RedisClock } from '../../src/queue/redis-clock.ts';
import { readWorkerFigures } from '../../src/queue/worker-figures.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { aModelCall, newTraceId } from '../support/spans.ts';
import { getExecution, listExecutions, sendSpans } from '../support/traces.ts';
import { until } from '../support/until.ts';
import { spawnWorker } from '../support/worker-process.ts';

/** A database of Redis that only this file uses, so that its bodies wait for this file's workers. */
/** Each round is a chance for two batches with spans of one trace to be stored at the same time. */
const rounds = 8;
const bodies = 30;

let api: TestApi;
let project: ProjectOfTest;
let redis: Redis;
let logDirectory: string;
let logFiles: string[];
let endWorkers: () => Promise<unknown>;

beforeAll(async () => {
  api = await startApi({ redisUrl: ownRedisUrl(10) });
  project = await newProject(api);
  redis = connectRequestRedis(api.config.redisUrl);
  await firstConnection(redis);
  logDirectory = mkdtempSync(join(tmpdir(), 'promptlane-two-workers-'));
  const { databaseUrl, redisUrl, clickhouseUrl } = api.config;
  logFiles = ['one.log', 'two.log'].map((name) => join(logDirectory, name));
  const workers = await Promise.all(
    logFiles.map((file) => spawnWorker({ databaseUrl, redisUrl, clickhouseUrl }, file)),
  );
  endWorkers = () => Promise.all(workers.map(({ end }) => end()));
  await until('two workers work', 30_000, async () => (await storedByWorker()).length === 2);
});
afterAll(async () => {
  await endWorkers();
  redis.disconnect();
  await api.close();
  rmSync(logDirectory, { recursive: true, force: true });
});

/** Spans that each worker has stored. */
async function storedByWorker(): Promise<number[]> {
  const clock = new RedisClock();
  await clock.look(redis);
  return (await readWorkerFigures(redis, clock.nowMs())).map(({ storedSpans }) => storedSpans);
}

/** What reconcilers of these workers said of this file's project: they look at what other files have stored as well. */
const mendings = () =>
  logFiles.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('executions differ') && line.includes(project.id)),
  );

test('spans of one trace that two workers store at the same time are all in its summary, and nothing is mended', async () => {
  for (let round = 0; round < rounds; round++) {
    const traceId = newTraceId();
    await Promise.all(
      Array.from({ length: bodies }, (_, n) =>
        sendSpans(api, project.key, [
          aModelCall(1, 2, { traceId, name: `call ${n}`, attributes: { 'gen_ai.usage.cost': 1 } }),
          aModelCall(3, 4, { traceId, name: `other ${n}`, attributes: { 'gen_ai.usage.cost': 2 } }),
        ]),
      ),
    );
    const listed = async () =>
      (await listExecutions(api, project)).body.data.find(({ trace_id }) => trace_id === traceId);
    let last: unknown;
    const execution = await until(`the whole of trace ${round}`, 20_000, async () => {
      const found = await listed();
      last = found?.span_count;
      return found?.span_count === 2 * bodies && found;
    }).catch((error: Error) => {
      throw new Error(`${error.message}; spans listed last: ${last}`);
    });
    expect(execution).toMatchObject({
      cost: `${3 * bodies}.000000`,
      usage: { input_tokens: 4 * bodies, output_tokens: 6 * bodies },
      totals_truncated: false,
    });
    expect((await getExecution(api, project, traceId, { spans: 'none' })).body.span_count).toBe(2 * bodies);
  }
  const shares = await until('both have told what they stored', 10_000, async () => {
    const stored = await storedByWorker();
    return stored.reduce((sum, each) => sum + each, 0) === rounds * bodies * 2 && stored;
  });
  expect(shares.filter((stored) => stored > 0)).toHaveLength(2);
  expect(mendings()).toEqual([]);
});
