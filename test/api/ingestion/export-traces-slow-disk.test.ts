import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobIdOf } from '../../../src/domains/ingestion/receive/keep-body.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../../src/stores/redis/client.ts';
import { bodyKey } from '../../../src/stores/redis/names.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { type SlowDiskRedis, startSlowDiskRedis } from '../../support/slow-disk/slow-disk-redis.ts';
import { aSpan } from '../../support/spans.ts';
import { postTraces } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

const senders = 16;
/** Longer than a request waits for a write. Redis itself waits two seconds for it, and stands still then. */
const fsyncMs = 5_000;
/** The barrier's patience, a second for the last command, and what the machine takes. */
const answerMsMax = 3_600;
/** Before a sender that was refused tries again. */
const resendMs = 25;
/** One after the other, some 25 ms apart; Redis holds writes back for two seconds. */
const looksMin = 12;

let disk: SlowDiskRedis;
let redis: Redis;
let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  disk = await startSlowDiskRedis(0, { writesWait: true });
  redis = connectRequestRedis(disk.url);
  redis.on('error', () => undefined);
  await firstConnection(redis);
  api = await startApi({ redisUrl: disk.url, logLevel: 'silent' });
  project = await newProject(api);
});
afterAll(async () => {
  await api.close();
  redis.disconnect();
  await disk.stop();
});

interface Sent {
  jobId: string;
  status: number;
  retryAfterS: number;
  tookMs: number;
}

async function send(): Promise<Sent> {
  const body = Buffer.from(encodeSpans('protobuf', [aSpan()]));
  const startedAtMs = performance.now();
  const { status, headers } = await postTraces(api, project.key, body);
  const tookMs = performance.now() - startedAtMs;
  const jobId = jobIdOf([project.id, 'protobuf', 'identity'], body);
  return { jobId, status, retryAfterS: Number(headers.get('retry-after') ?? 0), tookMs };
}

/**
 * Waits until Redis holds writes back in its memory, and has for so long that whoever does not wait
 * for them had an answer.
 */
async function untilWritesAreHeldBack(): Promise<void> {
  let looks = 0;
  await until('Redis goes on, and holds writes back once more', 60_000, async () => {
    const before = looks;
    looks = 0; // Also where Redis gives no answer.
    const info = await redis.info('persistence');
    if (/aof_pending_bio_fsync:[1-9]/.test(info) && /aof_buffer_length:\d{4}/.test(info)) looks = before + 1;
    return looks >= looksMin;
  });
}

test('while an fsync takes longer than a request waits: 503 with Retry-After in time, and nothing of a 200 is lost by kill -9', async () => {
  const sent: Sent[] = [];
  const taken = () => sent.filter(({ status }) => status === 200);
  const refused = () => sent.filter(({ status }) => status !== 200);
  let killed = false;
  const sending = Promise.all(
    Array.from({ length: senders }, async () => {
      while (!killed) {
        const one = await send();
        if (!killed) sent.push(one);
        if (one.status !== 200) await delay(resendMs);
      }
    }),
  );
  await until('enough is taken', 30_000, () => taken().length >= 200);
  disk.delayFsync(fsyncMs);
  await until('requests are refused', 30_000, () => refused().length > 0);
  await untilWritesAreHeldBack();
  killed = true;
  await disk.kill();
  await sending;

  expect(Math.max(...refused().map(({ tookMs }) => tookMs))).toBeGreaterThan(1_000);
  for (const { status, retryAfterS, tookMs } of refused()) {
    expect({ status, retryAfterS, isInTime: tookMs < answerMsMax }, `${Math.round(tookMs)} ms`).toEqual({
      status: 503,
      retryAfterS: 1,
      isInTime: true,
    });
  }
  disk.delayFsync(0);
  await disk.start();
  await until('the connection is back', 30_000, () => redis.status === 'ready');
  const keys = taken().map(({ jobId }) => bodyKey(project.id, jobId));
  const found = await redis.mget(...keys);
  expect(keys.filter((_, index) => found[index] === null)).toEqual([]);
});
