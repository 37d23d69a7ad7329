import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BodyWaits } from '../../src/domains/ingestion/receive/body-waits.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { summaryKeys } from '../../src/stores/redis/names.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { publishBody, type QuarantineTest, startQuarantineTest } from '../support/quarantine.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution } from '../support/traces.ts';

let stack: QuarantineTest;
let redis: Redis;

beforeAll(async () => {
  stack = await startQuarantineTest();
  redis = connectWorkerRedis(stack.api.config.redisUrl);
});
afterAll(async () => {
  redis.disconnect();
  await stack.close();
});

const bodyOf = (jobId: string) => ({ jobId, projectId: stack.project.id, traceId: randomBytes(16).toString('hex') });
const unknownJob = () => bodyOf(`b_${randomBytes(32).toString('hex')}`);
const patient = { workspaceId: 'w_1', timeoutMs: 30_000, signal: new AbortController().signal };

describe('a wait for a body', () => {
  test('ends when its spans are readable, and at once when they were before', async () => {
    const waits = new BodyWaits(stack.publisher);
    const span = aSpan();
    const jobId = await publishBody(stack.publisher, stack.project, Buffer.from(encodeSpans('protobuf', [span])));
    expect(await waits.wait(bodyOf(jobId), patient)).toBe('stored');
    expect((await getExecution(stack.api, stack.project, span.traceId)).status).toBe(200);
    expect(await waits.wait(bodyOf(jobId), { ...patient, timeoutMs: 0 })).toBe('stored');
  });

  test('says that the body ended in the quarantine', async () => {
    const jobId = await stack.publishCorrupt();
    expect(await new BodyWaits(stack.publisher).wait(bodyOf(jobId), patient)).toBe('quarantined');
  });

  test('ends when its time is up', async () => {
    const waits = new BodyWaits(stack.publisher);
    expect(await waits.wait(unknownJob(), { ...patient, timeoutMs: 60 })).toBe('pending');
  });

  test('ends when nobody waits any more, which frees its place', async () => {
    const waits = new BodyWaits(stack.publisher, { waitsMax: 1, perWorkspace: 1 });
    const gone = new AbortController();
    const first = waits.wait(unknownJob(), { ...patient, signal: gone.signal });
    expect(await waits.wait(unknownJob(), patient)).toBe('not_waited');
    gone.abort();
    expect(await first).toBe('pending');
    expect(await waits.wait(unknownJob(), { ...patient, timeoutMs: 0 })).toBe('pending');
  });

  test('takes no place from those of another workspace', async () => {
    const waits = new BodyWaits(stack.publisher, { waitsMax: 4, perWorkspace: 2 });
    const gone = new AbortController();
    const held = [1, 2].map(() => waits.wait(unknownJob(), { ...patient, signal: gone.signal }));
    expect(await waits.wait(unknownJob(), patient)).toBe('not_waited');
    const span = aSpan();
    const jobId = await publishBody(stack.publisher, stack.project, Buffer.from(encodeSpans('protobuf', [span])));
    expect(await waits.wait(bodyOf(jobId), { ...patient, workspaceId: 'w_2' })).toBe('stored');
    gone.abort();
    expect(await Promise.all(held)).toEqual(['pending', 'pending']);
  });

  test('ends only once the trace is listed as well', async () => {
    const body = unknownJob();
    const { due } = summaryKeys(body.projectId);
    await redis.hset(stack.publisher.queue.toKey(body.jobId), 'returnvalue', '"stored"');
    await redis.zadd(due, 1, body.traceId);
    const waits = new BodyWaits(stack.publisher);
    expect(await waits.wait(body, { ...patient, timeoutMs: 120 })).toBe('pending');
    const wait = waits.wait(body, patient);
    await redis.zrem(due, body.traceId);
    expect(await wait).toBe('stored');
  });

  test('is asked about together with the others, however many wait', async () => {
    const asked: number[] = [];
    const outcomes = async (bodies: readonly unknown[]) => {
      asked.push(bodies.length);
      return bodies.map(() => (asked.length > 2 ? ('stored' as const) : undefined));
    };
    const waits = new BodyWaits({ outcomes });
    const results = await Promise.all(Array.from({ length: 150 }, () => waits.wait(unknownJob(), patient)));
    expect(new Set(results)).toEqual(new Set(['stored']));
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  test('goes on while Redis does not answer', async () => {
    let asked = 0;
    const outcomes = async () => {
      if (asked++ < 3) throw new Error('Redis is away');
      return ['stored' as const];
    };
    expect(await new BodyWaits({ outcomes }).wait(unknownJob(), patient)).toBe('stored');
    expect(asked).toBe(4);
  });
});
