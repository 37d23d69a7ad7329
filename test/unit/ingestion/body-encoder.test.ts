import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BodyEncoder, createBodyEncoder } from '../../../src/domains/ingestion/store/body-encoder.ts';
import { BadBodyError } from '../../../src/domains/ingestion/store/body-errors.ts';
import type { EncodedBody } from '../../../src/domains/ingestion/store/encode-body.ts';
import type { RecordFinder } from '../../../src/domains/log-records/index.ts';
import { PriceTable } from '../../../src/domains/pricing/index.ts';
import { compileOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import type { KnownPrompt, PromptFinder } from '../../../src/domains/prompt-links/index.ts';
import { inflatedBodyBytesMax } from '../../../src/lib/body-bytes.ts';
import { UnavailableError } from '../../../src/lib/errors.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanBody } from '../../../src/otlp/scan.ts';
import type { IngestBodyPayload } from '../../../src/queue/job-catalog.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { encodeTraces, type SpanInput } from '../../support/otlp-encode.ts';
import { aModelCall } from '../../support/spans.ts';
import { type WorstBody, worstBodies } from '../../support/worst-bodies.ts';

const mebibyte = 1024 * 1024;
/** Of the timer that measures: its own jitter counts as delay. */
const resolutionMs = 10;

const greet: KnownPrompt = { id: 'prm_1', slug: 'greet', versions: [3] };
const prompts: PromptFinder = {
  find: async (_projectId, wanted) => new Map(wanted.has('greet') ? [['greet', greet]] : []),
};
const overrides = compileOverrides({
  prices: [
    {
      model: 'own-model',
      provider: null,
      inputPerMillion: '1000000',
      outputPerMillion: '0',
      cacheReadPerMillion: null,
      cacheWritePerMillion: null,
      reasoningPerMillion: null,
      effectiveFrom: null,
    },
  ],
  updatedAt: new Date(0),
});

/** Nothing listens there. */
const clickhouseUrl = 'http://127.0.0.1:9';
const noRecords: RecordFinder = { mayHave: () => false, find: async () => new Map() };

function newEncoder(options = {}, records = noRecords, limits = defaultOtlpLimits): BodyEncoder {
  return createBodyEncoder(
    {
      limits,
      prompts: { of: () => prompts },
      priceTable: new PriceTable(),
      records,
      clickhouseUrl,
      keepOtherLogs: true,
    },
    options,
  );
}

function payloadOf(given: Partial<IngestBodyPayload> & Pick<IngestBodyPayload, 'inflatedBytes'>): IngestBodyPayload {
  return {
    v: 1,
    projectId: 'prj_1',
    workspaceId: 'wsp_1',
    retentionDays: 30,
    encoding: 'protobuf',
    coding: 'identity',
    spans: 1,
    receivedAtMs: 1,
    ...given,
  };
}

function encodeWorst(encoder: BodyEncoder, { bytes, encoding, spans }: WorstBody, workspaceId = 'wsp_1') {
  return encoder.encode(payloadOf({ inflatedBytes: bytes.length, encoding, spans, workspaceId }), bytes, new Map());
}

function encodeSpans(encoder: BodyEncoder, spans: readonly SpanInput[], given: Partial<IngestBodyPayload> = {}) {
  const bytes = encodeTraces('protobuf', [{ scopeSpans: [{ spans }] }]);
  return encoder.encode(payloadOf({ inflatedBytes: bytes.length, spans: spans.length, ...given }), bytes, overrides);
}

/** Large enough, as its payload says, for a thread. */
const inThread = { inflatedBytes: mebibyte };

function worstBody(start: string, mebibytes: number): WorstBody {
  const make = worstBodies(mebibytes * mebibyte).find(([name]) => name.startsWith(start))?.[1];
  if (make === undefined) throw new Error(`No body is called ${start}…`);
  return make();
}

/** How long the event loop of this process was held up while `work` ran. */
async function loopDelay(work: () => Promise<unknown>): Promise<{ maxMs: number; p99Ms: number }> {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  await work();
  delay.disable();
  return { maxMs: delay.max / 1e6 - resolutionMs, p99Ms: delay.percentile(99) / 1e6 - resolutionMs };
}

/** The one reason for which a body within the limits may be refused. */
function refusedForItsRows(error: unknown): undefined {
  expect(error).toBeInstanceOf(BadBodyError);
  expect(error).toHaveProperty('message', expect.stringMatching(/may have at most 268435456 bytes/));
}

describe('the worst bodies that the limits allow', () => {
  let encoder: BodyEncoder;
  // A thread is loaded once.
  beforeAll(async () => {
    encoder = newEncoder();
    await encodeSpans(encoder, [aModelCall(1, 1)], inThread);
  }, 60_000);
  afterAll(() => encoder.close());

  test.each(worstBodies(62 * mebibyte))(
    '%s: become rows or are refused with a reason, and hold up nobody else',
    async (_name, make) => {
      const body = make();
      let encoded: EncodedBody | undefined;
      const { maxMs, p99Ms } = await loopDelay(async () => {
        encoded = await encodeWorst(encoder, body).catch(refusedForItsRows);
      });
      const { traceId, spans } = body;
      if (encoded !== undefined) expect(encoded).toMatchObject({ spanCount: spans, traces: [{ traceId, spans }] });
      // 250 and 50 ms on a quiet machine; what others do on a busy one counts here, too.
      expect(maxMs).toBeLessThan(500);
      expect(p99Ms).toBeLessThan(150);
    },
    60_000,
  );

  test.each(worstBodies(250 * 1024))(
    '%s, of a size that the main thread takes itself: no step holds it up for long',
    async (_name, make) => {
      const body = make();
      const { maxMs } = await loopDelay(() => encodeWorst(encoder, body).catch(refusedForItsRows));
      expect(maxMs).toBeLessThan(250);
    },
  );
});

test('the worst body of the largest size that an operator may allow fits in the memory of a thread', async () => {
  const limits = { ...defaultOtlpLimits, inflatedBytesMax: inflatedBodyBytesMax };
  const encoder = newEncoder({ workMsMax: 50_000 }, noRecords, limits);
  try {
    const body = worstBody('characters', inflatedBodyBytesMax / mebibyte - 1);
    expect(await encodeWorst(encoder, body).catch(refusedForItsRows)).toBeUndefined();
  } finally {
    await encoder.close();
  }
}, 60_000);

test('spans that share as large a resource as is accepted become rows', async () => {
  const spans = Array.from({ length: 120 }, (_, index) =>
    aModelCall(1, 1, { traceId: 'ab'.repeat(16), name: `${index}` }),
  );
  const resource = { attributes: { text: 'x'.repeat(mebibyte - 1_000) } };
  const bytes = encodeTraces('protobuf', [{ resource, scopeSpans: [{ spans }] }]);
  const { accepted, repeatedBytes } = scanBody('traces', 'protobuf', bytes, defaultOtlpLimits);
  expect(repeatedBytes).toBeGreaterThan(defaultOtlpLimits.repeatedBytesMax * 0.9);
  const encoder = newEncoder();
  const payload = payloadOf({ inflatedBytes: bytes.length, spans: accepted, repeatedBytes });
  const { rows } = await encoder.encode(payload, bytes, new Map());
  await encoder.close();
  expect(rows.bytes.length).toBeGreaterThan(repeatedBytes * 0.99);
}, 60_000);

test('a small body whose rows repeat very much is encoded without a long step', async () => {
  const spans = Array.from({ length: 91 }, (_, index) => aModelCall(1, 1, { name: `${index}` }));
  const resource = { attributes: { text: '\u0001'.repeat(240_000) } };
  const bytes = encodeTraces('protobuf', [{ resource, scopeSpans: [{ spans }] }]);
  const { accepted, repeatedBytes } = scanBody('traces', 'protobuf', bytes, defaultOtlpLimits);
  const encoder = newEncoder();
  await encodeSpans(encoder, [aModelCall(1, 1)], inThread);
  const payload = payloadOf({ inflatedBytes: bytes.length, spans: accepted, repeatedBytes });
  const { maxMs } = await loopDelay(() => encoder.encode(payload, bytes, new Map()));
  await encoder.close();
  // It took 150 to 300 ms.
  expect(maxMs).toBeLessThan(100);
}, 60_000);

test('a small body of one span and very many that are none becomes a row without a long step', async () => {
  const ids = { traceId: 'ab'.repeat(16), spanId: 'ab'.repeat(8) };
  const spans = [JSON.stringify({ ...ids, name: 'x' }), ...Array(85_000).fill('{}')].join(',');
  const bytes = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`);
  const encoder = newEncoder();
  const payload = payloadOf({ inflatedBytes: bytes.length, encoding: 'json' });
  await encodeSpans(encoder, [aModelCall(1, 1)], inThread);
  const loop = watchLoop();
  expect(await encoder.encode(payload, bytes, new Map())).toMatchObject({ spanCount: 1 });
  expect(loop.stop()).toBeLessThan(100);
  await encoder.close();
}, 60_000);

describe('a body that a thread works on', () => {
  let encoder: BodyEncoder;
  beforeAll(() => {
    encoder = newEncoder();
  });
  afterAll(() => encoder.close());

  test('becomes the same rows as on the main thread, priced and linked alike', async () => {
    const own = aModelCall(7, 0, {
      attributes: { 'gen_ai.response.model': 'own-model', 'gen_ai.prompt.name': 'greet', 'gen_ai.prompt.version': '3' },
    });
    const spans = [own, aModelCall(1_000, 10)];
    const [here, there] = [await encodeSpans(encoder, spans), await encodeSpans(encoder, spans, inThread)];
    expect(there).toEqual(here);
    expect(Buffer.isBuffer(there.rows.bytes)).toBe(true);
    expect(there.lightSpans).toMatchObject([
      { model: 'own-model', costNanoUsd: 7_000_000_000n, prompt: { id: 'prm_1', version: 3 } },
      { model: 'gpt-4o', costSource: 'computed', prompt: null },
    ]);
  });

  test('of more spans than are worth copying names its traces only', async () => {
    const { traceId } = aModelCall(0, 0);
    const spans = Array.from({ length: 1_001 }, () => aModelCall(1, 1, { traceId }));
    const encoded = await encodeSpans(encoder, spans);
    expect(encoded).toMatchObject({ spanCount: 1_001, traces: [{ traceId, spans: 1_001 }] });
    expect(encoded.lightSpans).toBeUndefined();
  });
});

describe('while log records of one workspace take long to be found', () => {
  test('a body of another workspace becomes rows', async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const encoder = newEncoder(
      {},
      {
        mayHave: () => true,
        async find(projectId) {
          if (projectId === 'prj_slow') await answered;
          return new Map();
        },
      },
    );
    const spans = [aModelCall(1, 1)];
    const slow = Array.from({ length: 20 }, () =>
      encodeSpans(encoder, spans, { projectId: 'prj_slow', workspaceId: 'wsp_slow' }),
    );
    expect(await encodeSpans(encoder, spans)).toMatchObject({ spanCount: 1 });
    answer();
    expect(await Promise.all(slow)).toHaveLength(20);
    await encoder.close();
  });
});

describe.each([
  ['on the main thread', {}],
  ['in a thread', inThread],
])('a body that is not what the edge accepted, %s', (_where, where) => {
  let encoder: BodyEncoder;
  beforeAll(() => {
    encoder = newEncoder();
  });
  afterAll(() => encoder.close());

  test.each([0, 1, 3])('is refused with both numbers when %i spans were accepted', async (accepted) => {
    const encoded = encodeSpans(encoder, [aModelCall(1, 1), aModelCall(1, 1)], { ...where, spans: accepted });
    await expect(encoded).rejects.toThrow(new BadBodyError(`The body decodes to 2 spans, ${accepted} were accepted`));
  });

  test('is refused when it holds no span', async () => {
    const encoded = encodeSpans(encoder, [], { ...where, spans: 0 });
    await expect(encoded).rejects.toThrow(new BadBodyError('The body decodes to 0 spans, 0 were accepted'));
  });

  test('is refused when it does not decode or inflate', async () => {
    const bytes = Buffer.from('{"resourceSpans":');
    const payload = payloadOf({ inflatedBytes: bytes.length, encoding: 'json', ...where });
    await expect(encoder.encode(payload, bytes, new Map())).rejects.toThrow(/cannot be decoded.*JSON/);
    await expect(encoder.encode({ ...payload, coding: 'gzip' }, bytes, new Map())).rejects.toThrow(/corrupt/);
  });

  test('but sends a span id twice is stored with the last', async () => {
    const span = aModelCall(1, 1, { name: 'first' });
    const encoded = await encodeSpans(encoder, [span, aModelCall(1, 1), { ...span, name: 'second' }], where);
    expect(encoded).toMatchObject({ spanCount: 2, lightSpans: [{ name: 'second' }, {}] });
  });
});

test.each<[string, Partial<IngestBodyPayload>]>([
  ['on the main thread', {}],
  ['in a thread', inThread],
])(
  'a body that was accepted before the limit of inflated bytes was lowered still becomes rows, %s',
  async (_where, given) => {
    const encoder = newEncoder({}, noRecords, { ...defaultOtlpLimits, inflatedBytesMax: 10 });
    try {
      expect(await encodeSpans(encoder, [aModelCall(1, 1)], given)).toMatchObject({ spanCount: 1 });
    } finally {
      await encoder.close();
    }
  },
  60_000,
);

describe('a body that takes a thread more than it may use', () => {
  test.each([
    [
      'time',
      'fails with the reason, so that it is tried again',
      { workMsMax: 250 },
      Error,
      /^Working on the body took more than 250 ms$/,
    ],
    [
      'time, because the machine is busy',
      'waits, so that it never counts as faulty',
      { passedMsMax: 600 },
      UnavailableError,
      /^The machine is busy: a body was not worked on within 600 ms$/,
    ],
    [
      'memory',
      'is refused with the reason',
      { heapMibMax: 40 },
      BadBodyError,
      /^The thread that worked on the body ended: .*memory/,
    ],
  ])(
    '%s: %s, alone',
    async (_what, _outcome, options, kind, reason) => {
      const encoder = newEncoder(options);
      try {
        const [refused, ...others] = await Promise.allSettled([
          encodeWorst(encoder, worstBody('characters', 62), 'wsp_heavy'),
          encodeSpans(encoder, [aModelCall(1, 1)], inThread),
          encodeSpans(encoder, [aModelCall(1, 1)], { ...inThread, workspaceId: 'wsp_heavy' }),
        ]);
        expect(refused).toMatchObject({ status: 'rejected', reason: { constructor: kind } });
        expect((refused as PromiseRejectedResult).reason.message).toMatch(reason);
        expect(others).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
      } finally {
        await encoder.close();
      }
    },
    60_000,
  );
});

test('a workspace with many large bodies leaves another the other thread: that one is not the last to be served', async () => {
  const encoder = newEncoder();
  const body = worstBody('model calls', 8);
  const served: string[] = [];
  const encode = (workspaceId: string) => encodeWorst(encoder, body, workspaceId).then(() => served.push(workspaceId));
  // A thread that is still being loaded serves nobody.
  await Promise.all(['wsp_many', 'wsp_one'].map(encode));
  served.length = 0;
  await Promise.all([...Array.from({ length: 12 }, () => encode('wsp_many')), encode('wsp_one')]);
  await encoder.close();
  // In the order of arrival it would be one of the last two, whatever else the machine does.
  expect(served.indexOf('wsp_one')).toBeLessThan(6);
}, 60_000);

test('a body whose thread is ended because the worker stops is not refused for it', async () => {
  const encoder = newEncoder();
  const body = worstBody('characters', 62);
  await encodeSpans(encoder, [aModelCall(1, 1)], inThread);
  const encoding = encodeWorst(encoder, body).catch((error: unknown) => error);
  await encoder.close();
  expect(await encoding).toBeInstanceOf(UnavailableError);
}, 60_000);

test('a large body of many traces brings the light half of each span from its thread; one of few large traces brings none', async () => {
  const encoder = newEncoder();
  const encoded = (spans: SpanInput[]) => {
    const bytes = Buffer.from(encodeTraces('protobuf', [{ scopeSpans: [{ spans }] }]));
    return encoder.encode(payloadOf({ inflatedBytes: bytes.length, spans: spans.length }), bytes, new Map());
  };
  const many = Array.from({ length: 3_000 }, () => aModelCall(1, 1));
  const { lightSpans = [] } = await encoded(many);
  expect(lightSpans.map(({ spanId }) => spanId)).toEqual(many.map(({ spanId }) => spanId));
  const [first] = many;
  const few = many.map((span) => ({ ...span, traceId: first?.traceId ?? '' }));
  expect((await encoded(few)).lightSpans).toBeUndefined();
  await encoder.close();
});
