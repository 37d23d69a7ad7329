import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { connectWorkerRedis } from '../../src/stores/redis/client.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce, readRawSpans } from '../support/readable.ts';
import { type Answer, post, SendLog } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { type SpanBody, singleTraceBody } from '../support/workload.ts';

const refusalMsMax = 1_200;
const recoveryMsMax = 2_000;
/** The gate looks at Redis twice a second, so a bad setting is noticed within that. */
const noticeMsMax = 1_500;

const protobufBody = {
  bytes: readFileSync(new URL('../fixtures/captures/otel-proto/001.body.pb', import.meta.url)),
  headers: { 'Content-Type': 'application/x-protobuf' },
};

interface Fault {
  begin: () => Promise<unknown>;
  end: () => Promise<unknown>;
}

describe('POST /api/v1/traces while Redis', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  const config = (name: string, value: string) => stack.redis.config('SET', name, value);
  const signal = async (name: NodeJS.Signals) => process.kill(stack.engines.redis.pid, name);
  const faults: [string, () => Fault][] = [
    ['is stopped', () => ({ begin: () => stack.engines.redis.stop(), end: () => stack.engines.redis.start() })],
    ['is frozen', () => ({ begin: () => signal('SIGSTOP'), end: () => signal('SIGCONT') })],
    ['is full', () => ({ begin: () => config('maxmemory', '1mb'), end: () => config('maxmemory', '2gb') })],
    [
      'has no append-only file',
      () => ({ begin: () => config('appendonly', 'no'), end: () => config('appendonly', 'yes') }),
    ],
    [
      'may evict',
      () => ({
        begin: () => config('maxmemory-policy', 'allkeys-lru'),
        end: () => config('maxmemory-policy', 'noeviction'),
      }),
    ],
  ];

  it.each(faults)(
    '%s: answers 503 in time, takes spans again within 2 s, stores each once',
    async (name, makeFault) => {
      const random = seededRandom();
      showLogsOnFailure(stack);
      const project = await stack.createProject(name);
      const fault = makeFault();
      const log = new SendLog();
      const before = singleTraceBody(random, 3);
      await sendOk(project, before, log);
      await fault.begin();
      const bodies = await refusedBodies(project, random, log);
      await expectRefusals(stack, project, bodies);
      const endedAtMs = Date.now();
      await fault.end();
      const firstOk = await until('the first 200', recoveryMsMax, async () => {
        const answer = await post(stack.apiUrl, project.apiKey, before);
        return answer.status === 200 && Date.now();
      });
      for (const body of bodies) await sendOk(project, body, log);
      await stack.untilIdle(20_000);
      await expectExactlyOnce(stack, project, log);
      // A body that timed out and was sent again is the same delivery, not a second one that FINAL hides.
      expect(await readRawSpans(stack, project)).toHaveLength(log.acknowledged.size);
      console.log(`Redis ${name}: first 200 ${firstOk - endedAtMs} ms after its end`);
    },
  );

  it('has forgotten its scripts, and learned one of a job again: takes spans again within 2 s, stores each once', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('scripts');
    const log = new SendLog();
    await sendOk(project, singleTraceBody(random, 3), log);
    await stack.redis.script('FLUSH');
    await addAnyJob(stack);
    const bodies = Array.from({ length: 10 }, () => singleTraceBody(random, 3));
    await Promise.all(bodies.map((body) => post(stack.apiUrl, project.apiKey, body)));
    await until('a 200', recoveryMsMax, async () => {
      const answers = await Promise.all(bodies.map((body) => post(stack.apiUrl, project.apiKey, body)));
      return answers.every(({ status }) => status === 200);
    });
    for (const key of bodies.flatMap(({ spanKeys }) => spanKeys)) {
      log.attempted.add(key);
      log.acknowledged.add(key);
    }
    await stack.untilIdle(20_000);
    await expectExactlyOnce(stack, project, log);
  });

  /**
   * Sent at once, before anything has been noticed: all of them are refused, or were taken before
   * the setting was seen.
   */
  async function refusedBodies(project: Project, random: () => number, log: SendLog): Promise<SpanBody[]> {
    const bodies = Array.from({ length: 10 }, () => singleTraceBody(random, 3));
    const probe = singleTraceBody(random, 3);
    for (const body of [...bodies, probe]) for (const key of body.spanKeys) log.attempted.add(key);
    const answers = await Promise.all(bodies.map((body) => post(stack.apiUrl, project.apiKey, body)));
    for (const answer of answers) if (answer.status !== 200) expectRefusal(answer);
    await until(
      'the refusal',
      noticeMsMax,
      async () => (await post(stack.apiUrl, project.apiKey, probe)).status === 503,
    );
    return [...bodies, probe];
  }

  async function sendOk(project: Project, body: SpanBody, log: SendLog): Promise<void> {
    for (const key of body.spanKeys) log.attempted.add(key);
    expect((await post(stack.apiUrl, project.apiKey, body)).status).toBe(200);
    for (const key of body.spanKeys) log.acknowledged.add(key);
  }
});

/** As another process would that has just been started. */
async function addAnyJob(stack: Stack): Promise<void> {
  const connection = connectWorkerRedis(stack.engines.redis.url);
  const queue = connectQueue('of-the-test', connection);
  await queue.add('any', {});
  await queue.close();
  connection.disconnect();
}

/** In parallel and one after the other, in both encodings. */
async function expectRefusals(stack: Stack, project: Project, bodies: readonly SpanBody[]): Promise<void> {
  const send = (body: Pick<SpanBody, 'bytes' | 'headers'>) => post(stack.apiUrl, project.apiKey, body);
  for (const answer of await Promise.all(bodies.map(send))) expectRefusal(answer);
  for (const body of bodies.slice(0, 3)) {
    const answer = await send(body);
    expectRefusal(answer);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 14, message: expect.stringContaining('again') });
  }
  const answer = await send(protobufBody);
  expectRefusal(answer);
  expect(answer.headers.get('content-type')).toBe('application/x-protobuf');
  // google.rpc.Status: field 1, code, is 14 UNAVAILABLE; field 2 is the message.
  expect([...answer.body.subarray(0, 3)]).toEqual([0x08, 14, 0x12]);
}

function expectRefusal(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(answer.tookMs).toBeLessThan(refusalMsMax);
}
