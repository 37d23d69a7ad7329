import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { itemAt } from '../../../src/lib/item-at.ts';
import { connectRequestRedis, firstConnection, type Redis } from '../../../src/stores/redis/client.ts';
import { bodyKey } from '../../../src/stores/redis/names.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { manifest, readCaptures } from '../../support/captures.ts';
import { getQuota, limitedProject } from '../../support/limits.ts';
import { traces as anyTraces } from '../../support/otlp-arbitrary.ts';
import { encodeSpans, encodeTraces } from '../../support/otlp-encode.ts';
import { listQuarantine } from '../../support/quarantine.ts';
import { aSpan } from '../../support/spans.ts';
import { contentTypes, decodeStatus, type Encoding, postTraces } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

interface Sample {
  encoding: Encoding;
  bytes: Buffer;
}

let api: TestApi;
let redis: Redis;

beforeAll(async () => {
  api = await startApi({ otlpInflatedBytesMax: 8 * 1024 * 1024 });
  redis = connectRequestRedis(api.config.redisUrl);
  await firstConnection(redis);
});
afterAll(async () => {
  redis.disconnect();
  await api.close();
});

/** Plain bodies of every recorded client. */
const samples: Sample[] = Object.keys(manifest)
  .flatMap((client) => readCaptures(client))
  .filter(({ url, file }) => url.endsWith('/traces') && !file.endsWith('.gzip'))
  .map(({ file, body }) => ({ encoding: file.endsWith('.json') ? 'json' : 'protobuf', bytes: body }));

const numbers = ['0', '-1', '1e400', '18446744073709551616', '"x"', 'null', '{}', '[]', '1.5', '4294967296', 'true'];

/** One thing done to a body: what networks, bugs and enemies do. */
const damage: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc.oneof(
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => (bytes: Buffer) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ bits;
    return copy;
  }),
  fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % (bytes.length + 1))),
  fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 20 })).map(([at, added]) => (bytes: Buffer) => {
    const split = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, split), added, bytes.subarray(split)]);
  }),
  fc.tuple(fc.nat(), fc.nat()).map(([from, length]) => (bytes: Buffer) => {
    const start = from % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + (length % 50))]);
  }),
  fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
  // Of JSON: some number or string becomes something else.
  fc.tuple(fc.nat(), fc.constantFrom(...numbers)).map(([nth, value]) => (bytes: Buffer) => {
    let index = 0;
    const matches = bytes.toString('latin1').match(/:\s*("[^"]*"|\d+)/g)?.length ?? 1;
    return Buffer.from(
      bytes
        .toString('latin1')
        .replace(/:\s*("[^"]*"|\d+)/g, (found) => (index++ === nth % matches ? `:${value}` : found)),
      'latin1',
    );
  }),
);

/** Mostly the first: a body must not be refused for its headers too often. */
function oftenest<T>(first: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

const hostile = fc.record({
  sample: fc.constantFrom(...samples),
  damages: fc.array(damage, { minLength: 1, maxLength: 2 }),
  coding: oftenest('identity', 'gzip', 'gzip of plain'),
  claimed: oftenest('what it is', 'json'),
});

/** Resolves once nothing of the project waits for the worker. */
async function untilWorkedOff(project: ProjectOfTest): Promise<void> {
  const pattern = bodyKey(project.id, '*');
  await until('all bodies worked on', 30_000, async () => (await redis.keys(pattern)).length === 0);
}

async function quarantinedOf(project: ProjectOfTest) {
  return (await listQuarantine(api)).filter(({ project_id }) => project_id === project.id);
}

describe('413', () => {
  test.each(['protobuf', 'json'] as const)(
    'a small body in %s whose spans share a large resource is refused, because each has its own copy',
    async (encoding) => {
      const project = await newProject(api);
      const spans = Array.from({ length: 10_000 }, () => aSpan());
      const resource = { attributes: { text: 'x'.repeat(30_000) } };
      const body = gzipSync(encodeTraces(encoding, [{ resource, scopeSpans: [{ spans }] }]));
      const headers = { 'Content-Type': contentTypes[encoding], 'Content-Encoding': 'gzip' };
      const answer = await postTraces(api, project.key, body, headers);
      expect(answer.status).toBe(413);
      const { message } = decodeStatus(encoding, answer.bytes);
      expect(message).toMatch(/the limit is 134217728\. Send fewer spans in a request, or smaller attributes/);
    },
  );
});

describe('429', () => {
  test('large bodies beyond those that may wait are refused as busy, and count as requests', async () => {
    const project = await limitedProject(api, { rate_limits: { ingest: 60 } });
    const values = `{"arrayValue":{"values":[${Array(200_000).fill('{}').join(',')}]}}`;
    const span = `{"traceId":"${'1'.repeat(32)}","attributes":[{"key":"a","value":${values}}]}`;
    const body = gzipSync(`{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`);
    const headers = { 'Content-Type': contentTypes.json, 'Content-Encoding': 'gzip' };
    const beganAtMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 50 }, () => postTraces(api, project.key, body, headers)));
    const refused = answers.filter(({ status }) => status === 429);
    for (const { bytes } of refused) expect(decodeStatus('json', bytes).message).toMatch(/^This workspace/);
    expect(refused.length).toBeGreaterThan(10);
    const { rate_limits } = await getQuota(api, project);
    const { remaining } = itemAt(rate_limits, 0);
    // One request drains every second.
    expect(remaining).toBeLessThanOrEqual(10 + (performance.now() - beganAtMs) / 1_000);
  });
});

describe('never 5xx', () => {
  test('damaged bodies of real clients are judged at the edge, and none that passes fails in the worker', async () => {
    const project = await newProject(api);
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(hostile, async ({ sample, damages, coding, claimed }) => {
        const damaged = damages.reduce((bytes, damageOne) => damageOne(bytes), sample.bytes);
        const body = coding === 'gzip' ? gzipSync(damaged) : damaged;
        const encoding = claimed === 'json' ? 'json' : sample.encoding;
        const headers = {
          'Content-Type': contentTypes[encoding],
          ...(coding === 'identity' ? {} : { 'Content-Encoding': 'gzip' }),
        };
        const answer = await postTraces(api, project.key, Buffer.from(body), headers);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        expect([200, 400, 413]).toContain(answer.status);
        if (answer.status !== 200) expect(decodeStatus(encoding, answer.bytes).message).toMatch(/\w/);
      }),
      { numRuns: 300 },
    );
    // The corpus must reach both sides of the edge, or it would prove nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(30);
    expect(statuses.get(400) ?? 0).toBeGreaterThan(30);
    await untilWorkedOff(project);
    expect(await quarantinedOf(project)).toEqual([]);
  }, 60_000);

  test('any request that a correct exporter could send is accepted and stored', async () => {
    const project = await newProject(api);
    await fc.assert(
      fc.asyncProperty(anyTraces, fc.constantFrom('protobuf', 'json'), async (traces, encoding) => {
        const body = Buffer.from(encodeTraces(encoding, traces));
        const answer = await postTraces(api, project.key, body, { 'Content-Type': contentTypes[encoding] });
        expect(answer.status, answer.bytes.toString()).toBe(200);
      }),
      { numRuns: 100 },
    );
    await untilWorkedOff(project);
    expect(await quarantinedOf(project)).toEqual([]);
  }, 60_000);

  const deepJson = `{"resourceSpans":${'['.repeat(100_000)}`;
  const deepProtobuf = nested(200);
  const oneSpan = aSpan();
  const huge = 10n ** 18n;
  test.each<[string, Encoding, Buffer | string, number]>([
    ['100,000 open brackets', 'json', deepJson, 400],
    ['values nested 200 deep', 'protobuf', deepProtobuf, 400],
    ['values nested 50 deep', 'protobuf', nested(50), 200],
    ['a length that reaches beyond the end', 'protobuf', Buffer.from('0affffffff0f', 'hex'), 400],
    ['an endless varint', 'protobuf', Buffer.from('08ffffffffffffffffffff01', 'hex'), 400],
    ['a group that never ends', 'protobuf', Buffer.alloc(5_000, 0x0b), 400],
    ['zero bytes only', 'protobuf', Buffer.alloc(5_000), 400],
    ['invalid UTF-8 in JSON', 'json', Buffer.from('7b22ff223a317d', 'hex'), 400],
    ['a lone surrogate', 'json', '{"resourceSpans":[{"schemaUrl":"\\ud800"}]}', 200],
    ['a million spaces', 'json', `{${' '.repeat(1_000_000)}}`, 200],
    ['a prototype as a key', 'json', '{"__proto__":{"resourceSpans":1},"resourceSpans":[]}', 200],
    [
      'absurd token counts',
      'protobuf',
      encodeSpans('protobuf', [
        { ...oneSpan, attributes: { 'gen_ai.usage.input_tokens': huge, 'gen_ai.usage.cost': 1e300 } },
      ]),
      200,
    ],
  ])('%s in %s', async (_what, encoding, body, status) => {
    const project = await newProject(api);
    const headers = { 'Content-Type': contentTypes[encoding] };
    const answer = await postTraces(api, project.key, Buffer.from(body), headers);
    expect(answer.status, answer.bytes.toString('latin1')).toBe(status);
    await untilWorkedOff(project);
    expect(await quarantinedOf(project)).toEqual([]);
  });
});

/** A span with one attribute whose value is an array in an array, so many deep, written byte by byte. */
function nested(depth: number): Buffer {
  let value = Buffer.alloc(0);
  for (let level = 0; level < depth; level++) value = message(5, message(1, value));
  const attribute = Buffer.concat([message(1, Buffer.from('deep')), message(2, value)]);
  const ids = Buffer.concat([message(1, Buffer.alloc(16, 1)), message(2, Buffer.alloc(8, 1))]);
  return message(1, message(2, message(2, Buffer.concat([ids, message(9, attribute)]))));
}

/** A length-delimited field of protobuf; up to 16 kB. */
function message(field: number, bytes: Buffer): Buffer<ArrayBuffer> {
  const { length } = bytes;
  const prefix = length < 0x80 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...prefix]), bytes]);
}
