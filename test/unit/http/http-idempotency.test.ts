import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint, rawEndpoint } from '../../../src/http/endpoint.ts';
import { isIdempotent, storedBytesMax } from '../../../src/http/idempotency.ts';
import type { Begun, IdempotencyStore, IdempotentRequest, StoredAnswer } from '../../../src/http/idempotent-request.ts';
import { ConflictError, OutcomeUnknownError, RateLimitedError, UnavailableError } from '../../../src/lib/errors.ts';
import { serve } from '../../support/http-app.ts';
import { until } from '../../support/until.ts';

interface Kept {
  digest: Buffer;
  lease: string;
  answer?: StoredAnswer;
  ageMs: number;
  postponed?: boolean;
  isLost?: boolean;
}
const kept = new Map<string, Kept>();
let storeFails = false;
const nameOf = ({ tenant, operationId, key }: IdempotentRequest) => JSON.stringify([tenant, operationId, key]);

/** The port's contract in a Map: one process, so exact without more. */
const store: IdempotencyStore = {
  async begin(request): Promise<Begun> {
    const held = kept.get(nameOf(request));
    if (!held) {
      const lease = randomUUID();
      kept.set(nameOf(request), { digest: request.digest, lease, ageMs: 0 });
      return { outcome: 'begun', lease, isAgain: false };
    }
    if (!held.digest.equals(request.digest)) return { outcome: 'reused' };
    if (held.postponed) {
      held.postponed = false;
      return { outcome: 'begun', lease: held.lease, isAgain: true };
    }
    if (held.isLost) return { outcome: 'lost', ageMs: held.ageMs };
    return held.answer ? { outcome: 'answered', answer: held.answer } : { outcome: 'unfinished', ageMs: held.ageMs };
  },
  async finish(request, lease, answer) {
    if (storeFails) throw new UnavailableError('postgres_unavailable', 'away');
    const held = kept.get(nameOf(request));
    if (held?.lease === lease) held.answer = answer;
  },
  async postpone(request, lease) {
    const held = kept.get(nameOf(request));
    if (held?.lease === lease) held.postponed = true;
  },
  async settle(request, lease, transactionId) {
    const held = kept.get(nameOf(request));
    if (held?.lease === lease)
      Object.assign(held, transactionId === 'committed' ? { isLost: true } : { postponed: true });
  },
  async unbegin() {},
  async abandon(request, lease) {
    if (kept.get(nameOf(request))?.lease === lease) kept.delete(nameOf(request));
  },
};

const common = { summary: 's', tag: 't', rateClass: 'write', access: { scope: 'x' } } as const;
const created = { 201: { description: 'created' } };
let effects = 0;
let effectIds: string[] = [];
const failures: Record<string, () => Error> = {
  away: () => new UnavailableError('dependency_unavailable', 'away'),
  commit: () => new OutcomeUnknownError('postgres_unavailable', 'away', { transactionId: 'committed' }),
  nothing: () => new OutcomeUnknownError('postgres_unavailable', 'away', { transactionId: 'aborted' }),
  rate: () => new RateLimitedError('rate_limited', 'slow down'),
  bug: () => new Error('a bug'),
  taken: () => new ConflictError('name_taken', 'taken'),
};
let release = () => {};

/** How the next request fails, whatever it asks for. */
let nextFailure: string | undefined;

const make = endpoint({
  ...common,
  operationId: 'make',
  method: 'POST',
  path: '/{project_id}/things',
  params: z.strictObject({ project_id: z.string() }),
  query: z.strictObject({ dry: z.string().optional() }),
  body: z.strictObject({ how: z.string().optional(), more: z.unknown().optional() }),
  shownOnce: ['secret'],
  responses: { 201: { description: 'created', schema: z.record(z.string(), z.unknown()) } },
  handle: async ({ body: { how = '' }, effectId }) => {
    effects += 1;
    effectIds.push(effectId);
    if (how === 'slow') await new Promise<void>((resolve) => (release = resolve));
    const failure = failures[nextFailure ?? how]?.();
    nextFailure = undefined;
    if (failure) throw failure;
    const padding = how === 'large' ? 'x'.repeat(storedBytesMax) : '';
    return {
      status: 201,
      body: { n: effects, secret: 'once-canary', padding },
      headers: { Location: `/things/${effects}` },
    };
  },
});
const endpoints = [
  make,
  endpoint({
    ...common,
    operationId: 'makeElse',
    method: 'POST',
    path: '/{project_id}/else',
    params: z.strictObject({ project_id: z.string() }),
    responses: { 202: { description: 'queued' } },
    handle: async () => {
      effects += 1;
      return { status: 202 };
    },
  }),
  endpoint({
    ...common,
    operationId: 'count',
    method: 'POST',
    path: '/count',
    responses: { 204: { description: 'counted' } },
    handle: async () => {
      effects += 1;
      return { status: 204 };
    },
  }),
];

let app: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  app = await serve(endpoints, {
    authorize: async () => 'someone',
    idempotency: { store, tenantOf: (_principal, params) => params.project_id ?? 'none' },
  });
});
afterAll(() => app.close());
beforeEach(() => {
  effects = 0;
  effectIds = [];
  storeFails = false;
  kept.clear();
});

async function post(path: string, body: unknown, key?: string) {
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : undefined };
}

describe('the same request again', () => {
  test('with the same key is answered as the first was, and has no effect', async () => {
    const first = await post('/p/things', { how: 'x', more: { a: 1, b: [2] } }, 'k');
    const second = await post('/p/things', '{"more": {"b":[2],"a":1}, "how":"x"}', 'k');
    expect([first.status, first.body.n, first.headers.get('idempotency-replayed')]).toEqual([201, 1, null]);
    expect([second.status, second.body.n, second.headers.get('idempotency-replayed')]).toEqual([201, 1, 'true']);
    expect(second.headers.get('location')).toBe('/things/1');
    expect(second.headers.get('content-type')).toBe('application/json');
    expect(effects).toBe(1);
  });
  test('comes without what is shown once, which is nowhere stored', async () => {
    expect((await post('/p/things', {}, 'k')).body.secret).toBe('once-canary');
    expect(Object.keys((await post('/p/things', {}, 'k')).body)).toEqual(['n', 'padding']);
    expect([...kept.values()].map(({ answer }) => String(answer?.content)).join()).not.toContain('canary');
  });
  test('without content is replayed without', async () => {
    await post('/p/else', {}, 'k');
    const again = await post('/p/else', {}, 'k');
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([202, '', 'true']);
    expect(effects).toBe(1);
  });
  test('without a key, with another key, in another project or on another route has its own effect', async () => {
    await post('/p/things', {}, 'k');
    await post('/p/things', {});
    await post('/p/things', {}, 'k2');
    await post('/q/things', {}, 'k');
    await post('/p/else', {}, 'k');
    expect(effects).toBe(5);
  });
  test('that failed for a reason of its own is told so again, under its own request id', async () => {
    const first = await post('/p/things', { how: 'taken' }, 'k');
    const second = await post('/p/things', { how: 'taken' }, 'k');
    expect([first.status, second.status, effects]).toEqual([409, 409, 1]);
    expect(second.body).toEqual({ ...first.body, request_id: second.headers.get('x-request-id') });
    expect(second.headers.get('content-type')).toBe('application/problem+json');
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });
  test.each(['away', 'rate', 'bug'])('that failed in a way that may pass (%s) is tried again', async (how) => {
    await post('/p/things', { how }, 'k');
    const second = await post('/p/things', { how }, 'k');
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(effects).toBe(2);
  });
  test.each(['away', 'bug'])(
    'whose outcome nobody knows (%s) runs again as the same effect, and no other body does',
    async (how) => {
      await post('/p/things', { how }, 'k');
      const changed = await post('/p/things', { how, more: 1 }, 'k');
      expect([changed.status, changed.body.code]).toEqual([422, 'idempotency_key_reused']);
      await post('/p/things', { how }, 'k');
      expect(effectIds).toHaveLength(2);
      expect(new Set(effectIds).size).toBe(1);
    },
  );
  test('without a key, or under a key that was free, is an effect of its own', async () => {
    await post('/p/things', {});
    await post('/p/things', {});
    await post('/p/things', { how: 'rate' }, 'k');
    await post('/p/things', { how: 'rate' }, 'k');
    expect(new Set(effectIds).size).toBe(4);
  });
  test('that may have taken effect, and is refused for its rate when it comes again, has the same effect id after that', async () => {
    for (const refusal of ['away', 'rate', 'away']) {
      nextFailure = refusal;
      await post('/p/things', {}, 'k');
    }
    expect(effectIds).toHaveLength(3);
    expect(new Set(effectIds).size).toBe(1);
  });
  test('whose commit was not stored runs again, with the same effect id', async () => {
    await post('/p/things', { how: 'nothing' }, 'k');
    await post('/p/things', { how: 'nothing' }, 'k');
    expect(effectIds).toHaveLength(2);
    expect(new Set(effectIds).size).toBe(1);
  });
  test('that was refused before its handler leaves the key free', async () => {
    expect((await post('/p/things', { unknown: 1 }, 'k')).status).toBe(400);
    expect((await post('/p/things', {}, 'k')).status).toBe(201);
  });
});

describe('409', () => {
  test('when the connection to the database was lost within a commit that was stored: the effect is not repeated', async () => {
    expect((await post('/p/things', { how: 'commit' }, 'k')).status).toBe(503);
    const again = await post('/p/things', { how: 'commit' }, 'k');
    expect([again.status, again.body.code]).toEqual([409, 'idempotency_answer_lost']);
    expect(effectIds).toHaveLength(1);
  });
  test('while the first runs, whoever asks is told to wait; then all get its answer', async () => {
    const first = post('/p/things', { how: 'slow' }, 'k');
    await expect.poll(() => effects).toBe(1);
    const others = await Promise.all(Array.from({ length: 5 }, () => post('/p/things', { how: 'slow' }, 'k')));
    for (const other of others) expect([other.status, other.body.code]).toEqual([409, 'idempotency_in_flight']);
    release();
    expect((await first).status).toBe(201);
    expect((await post('/p/things', { how: 'slow' }, 'k')).body.n).toBe(1);
    expect(effects).toBe(1);
  });
  test('when the first never finished, its outcome is unknown and it is not run again', async () => {
    storeFails = true;
    expect((await post('/p/things', {}, 'k')).status).toBe(201);
    for (const held of kept.values()) held.ageMs = 3_600_000;
    const answer = await post('/p/things', {}, 'k');
    expect([answer.status, answer.body.code, effects]).toEqual([409, 'idempotency_answer_lost', 1]);
    expect(answer.body.detail).toMatch(/started 3600 s ago .* not known/);
    expect(app.log.text()).toContain('idempotent response not stored');
  });
  test('until its answer is stored, which is tried again while the database is away', async () => {
    storeFails = true;
    expect((await post('/p/things', {}, 'k')).status).toBe(201);
    expect((await post('/p/things', {}, 'k')).body.code).toBe('idempotency_in_flight');
    storeFails = false;
    const answer = await until('the answer is stored', 10_000, async () => {
      const again = await post('/p/things', {}, 'k');
      return again.status === 201 && again;
    });
    expect([answer.headers.get('idempotency-replayed'), effects]).toEqual(['true', 1]);
  });
  test('when the answer was too large to keep, and it is not run again', async () => {
    expect((await post('/p/things', { how: 'large' }, 'k')).status).toBe(201);
    const answer = await post('/p/things', { how: 'large' }, 'k');
    expect([answer.status, answer.body.code, effects]).toEqual([409, 'idempotency_answer_lost', 1]);
  });
});

describe('422', () => {
  test.each<[string, string, unknown]>([
    ['another body', '/p/things', { how: 'y' }],
    ['another query', '/p/things?dry=1', { how: 'x' }],
  ])('%s under the same key is refused, running or done', async (_what, path, body) => {
    await post('/p/things', { how: 'x' }, 'k');
    const answer = await post(path, body, 'k');
    expect([answer.status, answer.body.code, effects]).toEqual([422, 'idempotency_key_reused', 1]);
  });
});

describe('400', () => {
  test.each(['', 'x'.repeat(256), 'a b', 'ä', 'a, b'])('the key %j is refused before the body is read', async (key) => {
    const answer = await post('/p/things', '{', key);
    expect([answer.status, answer.body.code, effects]).toEqual([400, 'invalid_header', 0]);
  });
  test('255 visible characters are a key', async () => {
    expect((await post('/p/things', {}, `!~${'x'.repeat(253)}`)).status).toBe(201);
  });
});

describe('which routes hear the key', () => {
  const base = { ...common, operationId: 'o', path: '/o', handle: async () => ({ status: 201 }) as const } as const;
  test.each([
    ['a POST that creates', make, true],
    [
      'a POST that does not create',
      endpoint({
        ...base,
        method: 'POST',
        responses: { 200: { description: '' } },
        handle: async () => ({ status: 200 }),
      }),
      false,
    ],
    ['a PUT', endpoint({ ...base, method: 'PUT', responses: created }), false],
    ['an open POST', endpoint({ ...base, method: 'POST', access: { open: true }, responses: created }), false],
    [
      'a POST that reads its own body',
      rawEndpoint({ ...base, method: 'POST', responses: created, handle: async () => {} }),
      false,
    ],
    ['a POST that says no', endpoint({ ...base, method: 'POST', idempotent: false, responses: created }), false],
  ])('%s: %#', (_what, contract, expected) => {
    expect(isIdempotent(contract)).toBe(expected);
  });
  test('the others ignore it, whatever it holds', async () => {
    await post('/count', {}, 'k');
    await post('/count', {}, 'a b');
    expect(effects).toBe(2);
  });
});
