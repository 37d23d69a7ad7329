import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type BodyToExamine,
  createBodyExaminer,
  type ExaminedBody,
} from '../../../src/domains/ingestion/receive/examine-body.ts';
import { MalformedError, TooLargeError } from '../../../src/lib/errors.ts';
import { newId, type WorkspaceId } from '../../../src/lib/ids.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { newTraceId, tracesBody } from '../../support/noise/attack-bodies.ts';

const mebibyte = 1024 * 1024;
const examiner = createBodyExaminer(defaultOtlpLimits);
afterAll(() => examiner.close());

/** Examines a body at once or, if it has to wait, in its turn. */
async function examineFully(received: BodyToExamine): Promise<ExaminedBody> {
  const examined = await examiner.examine(received);
  return typeof examined === 'function' ? examined() : examined;
}

const examine = (body: Buffer) =>
  examineFully({ workspaceId: newId('wsp'), signal: 'traces', encoding: 'json', coding: 'gzip', body });

describe('a small body that inflates to a large one', () => {
  const traceId = newTraceId();
  const spans = Array.from({ length: 40 }, () => ({ traceId, attributes: { text: 'x'.repeat(mebibyte) } }));
  const sound = tracesBody(spans);

  it('is found to hold what it holds, without its inflated bytes in the memory of the main thread', async () => {
    const bytesBefore = process.memoryUsage().arrayBuffers;
    let bytesMax = 0;
    const look = setInterval(() => (bytesMax = Math.max(bytesMax, process.memoryUsage().arrayBuffers)), 1);
    const { scan, inflatedBytes } = await examine(sound).finally(() => clearInterval(look));
    expect(scan).toMatchObject({ accepted: 40, rejected: 0 });
    expect(inflatedBytes).toBeGreaterThan(40 * mebibyte);
    expect(bytesMax).toBeGreaterThan(0);
    expect((bytesMax - bytesBefore) / mebibyte).toBeLessThan(10);
  });

  it.each([
    ['over the limit', gzipSync(Buffer.alloc(65 * mebibyte, 0x20)), TooLargeError, 'body_too_large'],
    ['cut short', sound.subarray(0, -5), MalformedError, 'corrupt_body'],
    ['that is not OTLP', gzipSync(Buffer.alloc(20 * mebibyte, 0x5b)), MalformedError, 'malformed_otlp'],
  ] as const)('%s is refused with its own error', async (_, body, kind, code) => {
    const error = await examine(body).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code });
  });
});

describe('sixteen large bodies of one workspace, sent together', () => {
  it('one of another workspace that comes after them does not wait until they are done', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 6 }, () => ({ traceId, attributes: { text: 'x'.repeat(mebibyte) } }));
    // As they are: bodies that are inflated do not come to their turns in the order in which they were sent.
    const body = gunzipSync(tracesBody(spans));
    const done: string[] = [];
    const examineOf = async (workspaceId: WorkspaceId) => {
      await examineFully({ workspaceId, signal: 'traces', encoding: 'json', coding: 'identity', body });
      done.push(workspaceId);
    };
    const [busy, other] = [newId('wsp'), newId('wsp')];
    // A thread that has yet to start serves nobody, so both of them work before.
    await Promise.all([examineOf(busy), examineOf(other)]);
    done.length = 0;
    await Promise.all([...Array.from({ length: 16 }, () => examineOf(busy)), examineOf(other)]);
    expect(done.indexOf(other)).toBeLessThan(4);
  });
});

describe('a small body with very many elements', () => {
  /** Returns a message of protobuf with this field. */
  const field = (tag: number, content: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = content.length; length.length === 0 || rest > 0; rest >>>= 7)
      length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    return Buffer.concat([Buffer.from([tag, ...length]), content]);
  };
  const requestOf = (scope: Buffer) => field(0x0a, field(0x12, scope));
  const emptyItems = requestOf(Buffer.from('1200'.repeat(1_000_000), 'hex'));
  const jsonOf = (path: string, count: number) => {
    const [resources, scopes, items] = path.split('.');
    return Buffer.from(`{"${resources}":[{"${scopes}":[{"${items}":[${Array(count).fill('{}').join(',')}]}]}]}`);
  };

  /** Unknown varint fields with distinct numbers from 17. */
  const unknownFields = Buffer.from(
    Array.from({ length: 30_000 }, (_, at) => (at + 17) * 8).flatMap((tag) => [
      ...[(tag & 0x7f) | 0x80, ((tag >> 7) & 0x7f) | 0x80, tag >> 14, 1],
    ]),
  );

  it.each([
    ['empty spans', 'traces', 'protobuf', emptyItems, 1_000_000],
    ['empty log records', 'logs', 'protobuf', emptyItems, 1_000_000],
    ['empty spans as JSON', 'traces', 'json', jsonOf('resourceSpans.scopeSpans.spans', 170_000), 170_000],
    ['empty log records as JSON', 'logs', 'json', jsonOf('resourceLogs.scopeLogs.logRecords', 170_000), 170_000],
    ['unknown fields of a span', 'traces', 'protobuf', requestOf(field(0x12, unknownFields)), 1],
    ['unknown fields of a log record', 'logs', 'protobuf', requestOf(field(0x12, unknownFields)), 1],
  ] as const)('%s: is examined without a long step', async (_, signal, encoding, body, count) => {
    const loop = watchLoop();
    const received = { workspaceId: newId('wsp'), signal, encoding, coding: 'gzip', body: gzipSync(body) } as const;
    const { scan } = await examineFully(received);
    expect(loop.stop()).toBeLessThan(150);
    expect(scan.accepted + scan.rejected).toBe(count);
  });

  it('compressed bytes that are nothing: are inflated without a long step', async () => {
    const member = gzipSync(Buffer.alloc(0));
    const body = Buffer.concat(Array(Math.floor((16 * mebibyte) / member.length)).fill(member));
    const loop = watchLoop();
    const received = {
      workspaceId: newId('wsp'),
      signal: 'traces',
      encoding: 'protobuf',
      coding: 'gzip',
      body,
    } as const;
    expect(await examineFully(received)).toMatchObject({ inflatedBytes: 0, scan: { accepted: 0 } });
    expect(loop.stop()).toBeLessThan(250);
  });
});

describe('a workspace whose body took long to scan', () => {
  const asJson = (workspaceId: WorkspaceId, body: Buffer) =>
    ({ workspaceId, signal: 'traces', encoding: 'json', coding: 'identity', body }) as const;
  /** Its scan takes ten milliseconds and more. */
  const long = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${Array(19_000).fill('{}').join(',')}]}]}]}`);
  const short = Buffer.from('{"resourceSpans":[]}');

  it('has the next one examined in its turn; one of another workspace is examined at once', async () => {
    const [busy, other] = [newId('wsp'), newId('wsp')];
    expect(await examiner.examine(asJson(busy, long))).toMatchObject({ scan: { rejected: 19_000 } });
    const next = await examiner.examine(asJson(busy, long));
    expect(await examiner.examine(asJson(other, short))).toMatchObject({ scan: { accepted: 0 } });
    expect(next).toBeTypeOf('function');
    expect(typeof next === 'function' && (await next())).toMatchObject({ scan: { rejected: 19_000 } });
  });

  it('leaves most of the event loop to others while its next ones are examined', async () => {
    const [busy, other] = [newId('wsp'), newId('wsp')];
    await examineFully(asJson(busy, long));
    let isDone = false;
    const bodies = Array.from({ length: 12 }, () => examineFully(asJson(busy, long)));
    const all = Promise.all(bodies).then(() => {
      isDone = true;
    });
    let examined = 0;
    for (; !isDone; examined++) {
      await examineFully(asJson(other, short));
      await nextTurn();
    }
    await all;
    // Of bodies that come one after the other in the same turns, two or three are examined meanwhile.
    expect(examined).toBeGreaterThan(100);
  });
});

describe('two workspaces with as many large bodies as each may have', () => {
  it('do not have one of a third workspace refused', async () => {
    const body = Buffer.from(`{"resourceSpans":[]${' '.repeat(mebibyte)}}`);
    const begin = (workspaceId: WorkspaceId) =>
      examiner.examine({ workspaceId, signal: 'traces', encoding: 'json', coding: 'identity', body });
    const [one, other, third] = [newId('wsp'), newId('wsp'), newId('wsp')];
    const inTurn = await Promise.all([...Array(17).fill(one), ...Array(17).fill(other), third].map(begin));
    const examined = await Promise.all(inTurn.map((examine) => (typeof examine === 'function' ? examine() : examine)));
    expect(examined.map(({ scan }) => scan.accepted)).toEqual(Array(35).fill(0));
  });
});
