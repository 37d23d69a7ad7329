import { createHash, randomUUID } from 'node:crypto';
import { UnrecoverableError } from 'bullmq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOrGiveUp, triesMax } from '../../src/domains/identity/apply-or-give-up.ts';
import { StatementTooSlowError, UnavailableError } from '../../src/lib/errors.ts';
import type { IdentityEvent } from '../../src/queue/identity-event.ts';
import { createIdentityEventPublisher, type IdentityEventPublisher } from '../../src/queue/identity-event-publisher.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import type { Redis } from '../../src/stores/redis/client.ts';
import { identityTriesKey } from '../../src/stores/redis/names.ts';
import { expectProblem, startApi, type TestApi } from '../support/api.ts';
import { identityEvent } from '../support/identity-state.ts';
import { identityWebhookSecrets, postWebhook, standardHeaders } from '../support/identity-webhooks.ts';
import { requestRedis } from '../support/limits.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let redis: Redis;
let publisher: IdentityEventPublisher;

beforeAll(async () => {
  api = await startApi({ identityWebhookSecrets });
  redis = await requestRedis(api.config.redisUrl);
  publisher = createIdentityEventPublisher(redis);
});
afterAll(async () => {
  await publisher.close();
  redis.disconnect();
  await api.close();
});

const aUser = (subject: string, name: string): IdentityEvent =>
  identityEvent(Date.now(), { kind: 'user', verb: 'created', subject, email: null, name });

/** Passes every check but Postgres, which stores no NUL. */
const poison = (subject = `user_${randomUUID()}`) => aUser(subject, 'Ann\u0000');

const jobIdOf = ({ provider, eventId }: IdentityEvent) =>
  createHash('sha256').update(`${provider} ${eventId}`).digest('hex');

const deps = (postgres = api.postgres) => ({
  postgres,
  redis,
  defaultPlan: 'free' as const,
});

interface FailedPage {
  data: { id: string; event_id: string; provider: string; type: string; reason: string; attempts: number }[];
  page: { has_more: boolean; next_cursor: string | null };
}

const listFailed = (query = {}) => api.admin<FailedPage>('listFailedIdentityEvents', { query }, 200);

async function countOf(outcome: string): Promise<number> {
  const { text } = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
  const line = text.split('\n').find((each) => each.startsWith('identity_events_total{') && each.includes(outcome));
  return Number(line?.split(' ').at(-1) ?? 0);
}

const isKnown = (subject: string) => api.postgres('users').where({ subject }).first('id');

/** Queues an event that has been tried so often already that its next failure is the last. */
async function publishOnLastTry(event: IdentityEvent): Promise<string> {
  const id = jobIdOf(event);
  await redis.set(identityTriesKey(id), triesMax - 1);
  await publisher.publish(id, event);
  return id;
}

const untilFailed = (id: string) =>
  until('the event failed', 10_000, async () => (await listFailed({ limit: 100 })).data.find((each) => each.id === id));

describe('an event that cannot be applied', () => {
  test('is given up at its tenth try, and not before', async () => {
    const event = poison();
    const job = { id: `job-${randomUUID()}` };
    const failed = await countOf('outcome="failed"');
    for (let tried = 1; tried < triesMax; tried++) {
      const error = await applyOrGiveUp(deps(), job, event).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(UnrecoverableError);
    }
    await expect(applyOrGiveUp(deps(), job, event)).rejects.toThrow(UnrecoverableError);
    // Other tests have events of their own.
    expect(await countOf('outcome="failed"')).toBeGreaterThan(failed);
    expect(await redis.exists(identityTriesKey(job.id))).toBe(0);
  });

  test('since its statement always takes too long is given up too', async () => {
    const slow = new StatementTooSlowError('query_timeout', 'A statement took too long');
    const postgres = { transaction: () => Promise.reject(slow) } as unknown as Postgres;
    const job = { id: `job-${randomUUID()}` };
    await redis.set(identityTriesKey(job.id), triesMax - 2);
    await expect(applyOrGiveUp(deps(postgres), job, aUser('user_x', 'Ann'))).rejects.toThrow(slow);
    await expect(applyOrGiveUp(deps(postgres), job, aUser('user_x', 'Ann'))).rejects.toThrow(UnrecoverableError);
  });

  test('is listed for the operator with its reason, while events of others go on', async () => {
    const event = poison();
    const id = await publishOnLastTry(event);
    const other = `user_${randomUUID()}`;
    await publisher.publish(jobIdOf(aUser(other, 'Bob')), aUser(other, 'Bob'));
    await until('the other applied', 5_000, () => isKnown(other));
    const entry = await untilFailed(id);
    expect(entry).toMatchObject({ event_id: event.eventId, provider: 'generic', type: 'user.created' });
    expect(entry.reason).toContain('invalid byte sequence');
    expect(JSON.stringify(entry)).not.toContain('Ann');
  });

  test('is tried again when the operator says so, and when the provider sends it again', async () => {
    const subject = `user_${randomUUID()}`;
    const event = poison(subject);
    const id = await publishOnLastTry(event);
    await untilFailed(id);
    await redis.set(identityTriesKey(id), triesMax - 1);
    await api.admin('retryFailedIdentityEvent', { params: { failed_event_id: id } }, 202);
    const audited = await api.postgres('audit_log').where({ target_id: id }).select('action', 'actor_type');
    expect(audited).toEqual([{ action: 'identity_event.retried', actor_type: 'admin' }]);
    await untilFailed(id);
    await redis.set(identityTriesKey(id), triesMax - 1);
    const body = JSON.stringify({ type: 'user.created', timestamp: Date.now(), data: { id: subject } });
    const resent = await postWebhook(api.url, 'generic', body, standardHeaders(body, 'webhook', { id: event.eventId }));
    expect([resent.status, resent.body.duplicate]).toEqual([202, false]);
    await untilFailed(id);
  });

  test('is listed page by page', async () => {
    const ids = await Promise.all([publishOnLastTry(poison()), publishOnLastTry(poison())]);
    for (const id of ids) await untilFailed(id);
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { data, page } = await listFailed({ limit: 1, ...(cursor && { cursor }) });
      seen.push(...data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(ids));
  });
});

test('while the database is away an event is tried forever', async () => {
  const away = await startApi({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
  const job = { id: `job-${randomUUID()}` };
  try {
    for (let tried = 0; tried < triesMax + 5; tried++) {
      const applied = applyOrGiveUp(deps(away.postgres), job, aUser('user_x', 'Ann'));
      await expect(applied).rejects.toThrow(UnavailableError);
    }
    expect(await redis.exists(identityTriesKey(job.id))).toBe(0);
  } finally {
    await away.close();
  }
});

test('events that were applied, came late, came twice or change nothing are counted', async () => {
  const outcomes = ['applied', 'outdated', 'duplicate', 'ignored'];
  const before = await Promise.all(outcomes.map(countOf));
  const prefix = randomUUID();
  const send = (id: string, event: object) => {
    const body = JSON.stringify(event);
    return postWebhook(api.url, 'generic', body, standardHeaders(body, 'webhook', { id: prefix + id }));
  };
  const user = { type: 'user.updated', timestamp: Date.now(), data: { id: `user_${randomUUID()}`, name: 'New' } };
  await send('new', user);
  await until('the user', 5_000, () => isKnown(user.data.id));
  await send('new', user);
  await send('old', { ...user, timestamp: user.timestamp - 60_000 });
  await send('other', { type: 'session.created', data: {} });
  await until('all are counted', 5_000, async () => {
    const after = await Promise.all(outcomes.map(countOf));
    return after.every((count, index) => count > (before[index] ?? 0));
  });
});

test('an unknown event cannot be tried again', async () => {
  const answer = await api.call('retryFailedIdentityEvent', {
    params: { failed_event_id: 'none' },
    adminKey: api.config.adminApiKey,
  });
  expectProblem(answer, 404, 'not_found');
  expect(await api.postgres('audit_log').where({ target_id: 'none' }).select('action')).toEqual([]);
});
