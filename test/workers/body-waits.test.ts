import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BodyWaits } from '../../src/domains/ingestion/body-waits.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { publishBody, type QuarantineTest, startQuarantineTest } from '../support/quarantine.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution } from '../support/traces.ts';

let stack: QuarantineTest;

beforeAll(async () => {
  stack = await startQuarantineTest();
});
afterAll(() => stack.close());

const bodyOf = (jobId: string) => ({ jobId, projectId: stack.project.id, traceId: randomBytes(16).toString('hex') });
const unknownJob = () => bodyOf(`b_${randomBytes(32).toString('hex')}`);
const patient = { timeoutMs: 30_000, signal: new AbortController().signal };

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
    const waits = new BodyWaits(stack.publisher, 1);
    const gone = new AbortController();
    const first = waits.wait(unknownJob(), { ...patient, signal: gone.signal });
    expect(await waits.wait(unknownJob(), patient)).toBe('not_waited');
    gone.abort();
    expect(await first).toBe('pending');
    expect(await waits.wait(unknownJob(), { ...patient, timeoutMs: 0 })).toBe('pending');
  });

  test('ends only once the trace is listed as well', async () => {
    const asked: string[] = [];
    const awaitsSummary = async (_project: string, traceId: string) => asked.push(traceId) < 3;
    const body = unknownJob();
    const waits = new BodyWaits({ outcome: async () => 'stored', awaitsSummary });
    expect(await waits.wait(body, patient)).toBe('stored');
    expect(asked).toEqual([body.traceId, body.traceId, body.traceId]);
  });

  test('goes on while Redis does not answer', async () => {
    let asked = 0;
    const outcome = async () => {
      if (asked++ < 3) throw new Error('Redis is away');
      return 'stored' as const;
    };
    expect(await new BodyWaits({ outcome, awaitsSummary: async () => false }).wait(unknownJob(), patient)).toBe(
      'stored',
    );
    expect(asked).toBe(4);
  });
});
