import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectQueue } from '../../../src/queue/connect-queue.ts';
import { jobCatalog } from '../../../src/queue/job-catalog.ts';
import { connectWorkerRedis, type Redis } from '../../../src/stores/redis/client.ts';
import { expectProblem, startApi, type TestApi } from '../../support/api.ts';
import {
  identityWebhookSecrets,
  postClerk,
  postWebhook,
  secrets,
  standardHeaders,
  workosHeaders,
} from '../../support/identity-webhooks.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
let redis: Redis;
let identityQueue: Queue;

beforeAll(async () => {
  api = await startApi({ identityWebhookSecrets });
  redis = connectWorkerRedis(api.config.redisUrl);
  identityQueue = connectQueue(jobCatalog.applyIdentityEvent.queue, redis);
});
afterAll(async () => {
  await identityQueue.close();
  redis.disconnect();
  await api.close();
});

const userEvent = (subject = `user_${randomUUID()}`) => ({
  type: 'user.created',
  data: { id: subject, updated_at: Date.now() },
});

function untilApplied(provider: string, eventId: string): Promise<unknown> {
  return until(`event ${eventId} applied`, 30_000, () =>
    api.postgres('identity_events').where({ provider, event_id: eventId }).first('event_id'),
  );
}

describe('202', () => {
  test('an event of each provider is taken with its id', async () => {
    const id = `evt_${randomUUID()}`;
    const clerk = await postClerk(api, userEvent(), { id });
    expect([clerk.status, clerk.body]).toEqual([202, { event_id: id, duplicate: false, ignored: false }]);
    expect(clerk.headers.get('content-type')).toBe('application/json');
    expect(clerk.headers.get('ratelimit-policy')).toBe('"webhook";q=6000;w=60');

    const generic = JSON.stringify(userEvent());
    const headers = standardHeaders(generic, 'webhook', { id });
    const taken = await postWebhook(api.url, 'generic', generic, headers);
    expect([taken.status, taken.body]).toEqual([202, { event_id: id, duplicate: false, ignored: false }]);

    const workos = JSON.stringify({ id, event: 'user.created', data: { id: `user_${id}` } });
    const third = await postWebhook(api.url, 'workos', workos, workosHeaders(workos));
    expect([third.status, third.body]).toEqual([202, { event_id: id, duplicate: false, ignored: false }]);
  });

  test('while secrets are rotated the old and the new one are taken', async () => {
    for (const secret of [secrets.clerk, secrets.clerkNext]) {
      expect((await postClerk(api, userEvent(), { secret })).status).toBe(202);
    }
  });

  test('the same id again is a duplicate: at once, and after it was applied and its job forgotten', async () => {
    const id = `msg_${randomUUID()}`;
    const event = userEvent();
    expect((await postClerk(api, event, { id })).body).toMatchObject({ duplicate: false });
    expect((await postClerk(api, event, { id })).body).toMatchObject({ duplicate: true });
    await untilApplied('clerk', id);
    await until('its job removed', 30_000, async () => {
      const job = (await identityQueue.getCompleted()).find(({ data }) => data.eventId === id);
      await job?.remove();
      return job !== undefined;
    });
    expect((await postClerk(api, event, { id })).body).toMatchObject({ event_id: id, duplicate: true });
  });

  test('ten deliveries of one id at once are one event, and nine duplicates', async () => {
    const id = `msg_${randomUUID()}`;
    const subject = `user_${randomUUID()}`;
    const event = userEvent(subject);
    const answers = await Promise.all(Array.from({ length: 10 }, () => postClerk(api, event, { id })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202));
    expect(answers.map(({ body }) => body.duplicate).filter(Boolean)).toHaveLength(9);
    await untilApplied('clerk', id);
    const [user] = await api.postgres('users').where({ subject }).select('id');
    const entries = await api
      .postgres('audit_log')
      .where({ target_id: user.id })
      .select('action', 'actor_type', 'actor_id');
    expect(entries).toEqual([{ action: 'user.created', actor_type: 'identity_provider', actor_id: 'clerk' }]);
  });

  test('one id of two providers is two events', async () => {
    const id = `msg_${randomUUID()}`;
    const body = JSON.stringify(userEvent());
    expect((await postClerk(api, userEvent(), { id })).body).toMatchObject({ duplicate: false });
    const generic = await postWebhook(api.url, 'generic', body, standardHeaders(body, 'webhook', { id }));
    expect(generic.body).toMatchObject({ duplicate: false });
  });

  test('a kind that changes nothing is ignored, whatever its data', async () => {
    for (const data of [{ id: 'sess_1' }, {}, null, 'text']) {
      const answer = await postClerk(api, { type: 'session.created', data });
      expect([answer.status, answer.body]).toMatchObject([202, { duplicate: false, ignored: true }]);
    }
  });

  test('the longest body is taken, and the media type may name UTF-8', async () => {
    const event = userEvent();
    const padding = 256 * 1024 - JSON.stringify({ object: 'event', ...event, padding: '' }).length;
    expect((await postClerk(api, { ...event, padding: 'x'.repeat(padding) })).status).toBe(202);
    const body = JSON.stringify(userEvent());
    const headers = { ...standardHeaders(body, 'svix'), 'content-type': 'application/json; charset=utf-8' };
    expect((await postWebhook(api.url, 'clerk', body, headers)).status).toBe(202);
  });

  test('an answer takes under a second, also while the database is away', async () => {
    const alone = await startApi({ identityWebhookSecrets, databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
    try {
      const startedAtMs = performance.now();
      expect((await postClerk(alone, userEvent())).status).toBe(202);
      expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    } finally {
      await alone.close();
    }
  });
});

describe('400', () => {
  test.each(['', '{', 'nonsense', '{"type":"user.created"'])('a verified body %j is not JSON', async (body) => {
    const answer = await postWebhook(api.url, 'clerk', body, standardHeaders(body, 'svix'));
    expectProblem(answer, 400, 'malformed_json');
  });

  test('verified bytes that are not UTF-8 are not JSON', async () => {
    const body = Buffer.from([0x22, 0xff, 0x22]);
    const answer = await postWebhook(api.url, 'workos', body, workosHeaders(body));
    expectProblem(answer, 400, 'malformed_json');
  });
});

describe('401', () => {
  const body = JSON.stringify(userEvent());
  const at = (seconds: number) => Date.now() + seconds * 1_000;

  test.each<[string, () => Record<string, string>]>([
    ['no signature', () => ({})],
    ['a foreign secret', () => standardHeaders(body, 'svix', { secret: secrets.generic })],
    ['a body that was changed', () => standardHeaders(`${body} `, 'svix')],
    ['an id that was changed', () => ({ ...standardHeaders(body, 'svix'), 'svix-id': 'msg_other' })],
    ['a time five minutes and a second ago', () => standardHeaders(body, 'svix', { atMs: at(-301) })],
    ['a time over five minutes ahead', () => standardHeaders(body, 'svix', { atMs: at(302) })],
    ['the signature of another provider', () => workosHeaders(body)],
  ])('%s is refused, all in the same words', async (_what, headers) => {
    const problem = expectProblem(await postWebhook(api.url, 'clerk', body, headers()), 401, 'invalid_signature');
    expect(problem.detail).toBe('The signature is missing or wrong, or its time is too far from the current time.');
  });

  test.each([-301, 302])('WorkOS: a time %i s from now is refused', async (seconds) => {
    const answer = await postWebhook(api.url, 'workos', body, workosHeaders(body, { atMs: at(seconds) }));
    expectProblem(answer, 401, 'invalid_signature');
  });

  test('the signature is looked at before the body is parsed', async () => {
    expectProblem(await postWebhook(api.url, 'clerk', '{', {}), 401, 'invalid_signature');
  });

  test('bytes that are not UTF-8 do not pass with the signature of what they decode to', async () => {
    const bytes = Buffer.concat([Buffer.from(body), Buffer.from([0xff])]);
    const answer = await postWebhook(api.url, 'clerk', bytes, standardHeaders(bytes.toString(), 'svix'));
    expectProblem(answer, 401, 'invalid_signature');
  });
});

describe('404', () => {
  test.each(['auth0', 'CLERK', 'toString', '__proto__', 'clerk%00', 'x'.repeat(300)])(
    '%j is no provider',
    async (provider) => {
      const body = JSON.stringify(userEvent());
      const answer = await postWebhook(api.url, provider, body, standardHeaders(body, 'svix'));
      expect([400, 404]).toContain(answer.status);
      expect(answer.body.code).toBe(provider.includes('%00') ? 'malformed_path' : 'provider_not_found');
    },
  );

  test('a provider without secrets does not exist', async () => {
    const bare = await startApi();
    try {
      for (const provider of ['clerk', 'workos', 'generic']) {
        const body = JSON.stringify(userEvent());
        const answer = await postWebhook(bare.url, provider, body, standardHeaders(body, 'svix'));
        expectProblem(answer, 404, 'provider_not_found');
      }
    } finally {
      await bare.close();
    }
  });

  test('is said before the body is read', async () => {
    const status = await new Promise((resolve, reject) => {
      const sending = request(
        `${api.url}/api/webhooks/nobody`,
        { method: 'POST', headers: { 'content-type': 'application/json', 'content-length': 1_000 } },
        (response) => {
          resolve(response.statusCode);
          sending.destroy();
        },
      );
      sending.once('error', reject);
      sending.write('{'); // And never the rest.
    });
    expect(status).toBe(404);
  });
});

test('405: a GET is told that only POST is served', async () => {
  const response = await fetch(`${api.url}/api/webhooks/clerk`);
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
});

describe('413', () => {
  test('a byte over 256 KB is too much, signed or not', async () => {
    const body = JSON.stringify({ padding: 'x'.repeat(256 * 1024) }).slice(0, 256 * 1024 + 1);
    expectProblem(await postWebhook(api.url, 'clerk', body, standardHeaders(body, 'svix')), 413, 'body_too_large');
    expectProblem(await postWebhook(api.url, 'clerk', body, {}), 413, 'body_too_large');
  });
});

describe('415', () => {
  test.each<[Record<string, string>, string]>([
    [{ 'content-type': 'text/plain' }, 'unsupported_media_type'],
    [{ 'content-type': 'application/json; charset=latin1' }, 'unsupported_media_type'],
    [{ 'content-encoding': 'gzip' }, 'unsupported_content_encoding'],
  ])('%j is not taken, although signed', async (wrong, code) => {
    const body = JSON.stringify(userEvent());
    const answer = await postWebhook(api.url, 'clerk', body, { ...standardHeaders(body, 'svix'), ...wrong });
    expectProblem(answer, 415, code);
  });
});

describe('422', () => {
  test.each<[object, string]>([
    [{ data: { id: 'u' } }, 'type'],
    [{ type: 'user.created' }, 'data'],
    [{ type: 'user.created', data: { id: 7 } }, 'data.id'],
    [{ type: 'user.created', data: { id: 'u', updated_at: 'soon' } }, 'data.updated_at'],
    ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-12:00'].map(
      (at): [object, string] => [{ type: 'user.created', data: { id: 'u', updated_at: at } }, 'data.updated_at'],
    ),
    ...[253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_001, Date.now() + 3_600_000].map(
      (at): [object, string] => [{ type: 'user.created', data: { id: 'u', updated_at: at } }, 'data.updated_at'],
    ),
    [{ type: 'user.created', timestamp: '2099-01-01T00:00:00Z', data: { id: 'u' } }, 'timestamp'],
    [{ type: 'user.created', data: { id: 'a\u0000b' } }, 'data.id'],
    [{ type: 'organizationMembership.created', data: { organization: { id: 'o' } } }, 'data.public_user_data'],
  ])('%j lacks what it needs, which is named', async (event, path) => {
    const problem = expectProblem(await postClerk(api, event), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test.each(['workos', 'generic'])(
    'a time far ahead is refused from %s too, and what is said later counts',
    async (name) => {
      const subject = `user_${randomUUID()}`;
      const send = async (updatedAt: string | undefined, who: string) => {
        const [id, data] = [
          `evt_${randomUUID()}`,
          { id: subject, email: `${who}@example.test`, updated_at: updatedAt },
        ];
        const event = name === 'workos' ? { id, event: 'user.updated', data } : { type: 'user.updated', data };
        const body = JSON.stringify(event);
        const headers = name === 'workos' ? workosHeaders(body) : standardHeaders(body, 'webhook', { id });
        return { id, answer: await postWebhook(api.url, name, body, headers) };
      };
      expectProblem((await send('9000-01-01T00:00:00Z', 'future')).answer, 422, 'invalid_body');
      const ahead = new Date(Date.now() + 6 * 60_000).toISOString();
      expectProblem((await send(ahead, 'ahead')).answer, 422, 'invalid_body');
      const { id, answer } = await send(new Date().toISOString(), 'now');
      expect(answer.status).toBe(202);
      await untilApplied(name, id);
      expect(await api.postgres('users').where({ subject }).first('email')).toEqual({ email: 'now@example.test' });
    },
  );

  test('an id too long to remember is refused', async () => {
    expectProblem(await postClerk(api, userEvent(), { id: 'm'.repeat(256) }), 422, 'invalid_body');
  });
});

describe('503', () => {
  test('without Redis the provider is asked to come again, within 1.2 s', async () => {
    const alone = await startApi({ identityWebhookSecrets, redisUrl: 'redis://127.0.0.1:1' });
    try {
      const startedAtMs = performance.now();
      const answer = await postClerk(alone, userEvent());
      expectProblem(answer, 503, 'queue_unavailable');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(performance.now() - startedAtMs).toBeLessThan(1_200);
    } finally {
      await alone.close();
    }
  });
});
