import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { recordEvents } from '../../src/domains/events/index.ts';
import { expireDeliveries } from '../../src/domains/webhooks/delivery-queue-store.ts';
import { fanOutEvents } from '../../src/domains/webhooks/fan-out-events.ts';
import { pruneEvents, pruneWebhooks } from '../../src/domains/webhooks/jobs.ts';
import { lockWebhook } from '../../src/domains/webhooks/webhook-store.ts';
import type { ProjectId } from '../../src/lib/ids.ts';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import { newProject, type ProjectOfTest } from '../support/api.ts';
import { until } from '../support/until.ts';
import { latestAudit } from '../support/users.ts';
import {
  deliveriesOf,
  expectSigned,
  insertDeliveries,
  newWebhook,
  okIn,
  quickTimes,
  type Receiver,
  sendTest,
  startReceiver,
  startWebhookApi,
  untilDelivered,
  type WebhookApi,
  type WireWebhook,
} from '../support/webhooks.ts';

let api: WebhookApi;
let lane: { close: () => Promise<void> } | undefined;
const receivers: Receiver[] = [];

beforeAll(async () => {
  api = await startWebhookApi();
});
afterEach(async () => {
  await lane?.close();
  lane = undefined;
  for (const receiver of receivers.splice(0)) await receiver.close();
});
afterAll(() => api.close());

async function receive(answer: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  return receiver;
}

const record = (project: ProjectOfTest, events: number) =>
  recordEvents(
    api.postgres,
    Array.from({ length: events }, (_, n) => ({
      workspaceId: project.workspaceId,
      projectId: project.id,
      type: 'prompt.deleted' as const,
      data: { project_id: project.id, prompt_id: `prm_${n}`, slug: `slug-${n}`, name: 'of the test' },
    })),
  );

const getWebhook = (project: ProjectOfTest, { id }: { id: string }) =>
  okIn<WireWebhook>(api, project, 'getWebhook', { params: { webhook_id: id } });

describe('a receiver', () => {
  test('that responds with 500 three times gets the same id four times and one success', async () => {
    lane = api.startLane();
    const project = await newProject(api);
    const receiver = await receive((response, nth) => response.writeHead(nth <= 3 ? 500 : 200).end(`answer ${nth}`));
    const webhook = await newWebhook(api, project, receiver);
    const eventId = await sendTest(api, project, webhook);
    expect(await untilDelivered(api, project, webhook, eventId)).toMatchObject({
      ...{ status: 'succeeded', attempt_count: 4, response_status: 200, error: null },
    });
    expect(receiver.received.map(({ id }) => id)).toEqual([eventId, eventId, eventId, eventId]);
    for (const request of receiver.received) expectSigned(request, webhook.secret);
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    expect(receiver.received[0]).toMatchObject({
      headers: {
        'content-type': 'application/json',
        'user-agent': expect.stringMatching(/^Promptlane-Webhooks\/\d/),
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      },
      body: {
        type: 'webhook.test',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: { project_id: project.id, webhook_id: webhook.id },
      },
    });
    expect(await getWebhook(project, webhook)).toMatchObject({ consecutive_failures: 0, failing_since: null });
    const { text } = await api.call('getMetrics', { adminKey: api.config.adminApiKey });
    expect(text).toMatch(/webhook_attempts_total{outcome="retried",process="api"} [3-9]/);
    expect(text).toMatch(/webhook_attempts_total{outcome="succeeded",process="api"} \d/);
    expect(text).toMatch(/webhook_deliveries_pending{process="api"} 0\n/);
    expect(text).toMatch(/webhook_deliveries_oldest_pending_seconds{process="api"} 0\n/);
  });

  test('whose webhook a frozen process has locked holds up the deliveries of nobody', async () => {
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const eventId = await sendTest(api, project, webhook);
    await api.postgres.transaction(async (frozen) => {
      await lockWebhook(frozen, project.id as ProjectId, webhook.id);
      lane = api.startLane();
      await until(
        'its deliveries are made',
        4_000,
        async () => (await deliveriesOf(api, project, webhook)).length === 1,
      );
    });
    await untilDelivered(api, project, webhook, eventId);
  });

  test('whose webhook is deleted while deliveries are made costs no other workspace its deliveries', async () => {
    const [project, other] = [await newProject(api), await newProject(api)];
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const kept = await newWebhook(api, other, receiver);
    await sendTest(api, project, webhook);
    await sendTest(api, other, kept);
    const beside = connectPostgres(api.config.databaseUrl, 2);
    let made: Promise<number> | undefined;
    await beside.transaction(async (deletion) => {
      await deletion('webhooks').where({ id: webhook.id }).delete();
      made = fanOutEvents(beside, { windowMs: 60_000 });
      await until('deliveries wait for the deletion', 4_000, async () => {
        const { rows } = await api.postgres.raw(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%for key share%'",
        );
        return rows.length > 0;
      });
    });
    await made;
    await beside.destroy();
    expect(await deliveriesOf(api, other, kept)).toHaveLength(1);
  });

  test('that redirects gets no other request than those to its own URL', async () => {
    lane = api.startLane();
    const project = await newProject(api);
    const other = await receive((response) => response.end());
    const receiver = await receive((response, nth) =>
      nth === 1 ? response.writeHead(302, { Location: other.url }).end() : response.end(),
    );
    const webhook = await newWebhook(api, project, receiver);
    await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    expect([receiver.received.length, other.received.length]).toEqual([2, 0]);
  });

  test('that does not respond in time is asked again', async () => {
    lane = api.startLane({ ...quickTimes, timeoutMs: 100 });
    const project = await newProject(api);
    const receiver = await receive((response, nth) => nth > 1 && response.end());
    const webhook = await newWebhook(api, project, receiver);
    const delivery = await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    expect(delivery).toMatchObject({ status: 'succeeded', attempt_count: 2 });
  });

  test('gets both signatures while a secret is being replaced, and then one', async () => {
    lane = api.startLane();
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const rotate = (overlap_s: number) =>
      okIn<{ secret: string }>(api, project, 'rotateWebhookSecret', {
        ...{ params: { webhook_id: webhook.id }, body: { overlap_s } },
      });
    const { secret } = await rotate(3_600);
    await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    const [first] = receiver.received;
    if (first === undefined) throw new Error('Nothing was received');
    expectSigned(first, webhook.secret);
    expectSigned(first, secret);
    const { secret: last } = await rotate(0);
    await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    const second = receiver.received[1];
    if (second === undefined) throw new Error('Nothing was received');
    expectSigned(second, last);
    expect(() => expectSigned(second, secret)).toThrow('No matching signature');
    expect(String(second.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  test('gets only the events that it wants, of its own project', async () => {
    lane = api.startLane();
    const project = await newProject(api);
    const stranger = await newProject(api);
    const receiver = await receive((response) => response.end());
    await newWebhook(api, project, { url: `${receiver.url}/labels`, events: ['prompt.label_moved'] });
    const webhook = await newWebhook(api, project, { url: `${receiver.url}/deletions` });
    await record(stranger, 1);
    await record(project, 3);
    const received = await until('three events', 5_000, () => receiver.received.length >= 3 && receiver.received);
    expect(received.map(({ path, body }) => [path, body.data.prompt_id])).toEqual(
      expect.arrayContaining([0, 1, 2].map((n) => ['/hook/deletions', `prm_${n}`])),
    );
    expect(await deliveriesOf(api, project, webhook)).toHaveLength(3);
  });

  test('that responds with 410 is disabled at once, and the audit log says why', async () => {
    lane = api.startLane();
    const project = await newProject(api);
    const receiver = await receive((response) => response.writeHead(410).end());
    const webhook = await newWebhook(api, project, receiver);
    const delivery = await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    expect(delivery).toMatchObject({ status: 'failed', attempt_count: 1, response_status: 410 });
    expect(await getWebhook(project, webhook)).toMatchObject({ enabled: false, disabled_reason: 'gone' });
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      action: 'webhook.disabled',
      ...{ actor_type: 'system', actor_id: null },
      details: { reason: 'gone', delivery_id: delivery.id },
    });
  });

  test('that only fails for the whole time is disabled; enabled again, it gets what is still pending', async () => {
    lane = api.startLane({ ...quickTimes, disableAfterMs: 300, failuresToDisable: 4 });
    const project = await newProject(api);
    let works = false;
    const receiver = await receive((response) => response.writeHead(works ? 200 : 503).end());
    const webhook = await newWebhook(api, project, receiver);
    const eventId = await sendTest(api, project, webhook);
    await until('disabled', 5_000, async () => !(await getWebhook(project, webhook)).enabled);
    expect(await getWebhook(project, webhook)).toMatchObject({ disabled_reason: 'failing' });
    works = true;
    await okIn(api, project, 'updateWebhook', { params: { webhook_id: webhook.id }, body: { enabled: true } });
    expect((await untilDelivered(api, project, webhook, eventId)).status).toBe('succeeded');
    expect(await getWebhook(project, webhook)).toMatchObject({ enabled: true, disabled_reason: null });
  });

  test('that has another URL gets at once what waits for hours', async () => {
    lane = api.startLane({ timeoutMs: 3_000 });
    const project = await newProject(api);
    const away = await receive((response) => response.writeHead(503, { 'Retry-After': '3600' }).end());
    const webhook = await newWebhook(api, project, away);
    const eventId = await sendTest(api, project, webhook);
    await until('the next try is in an hour', 10_000, async () => {
      const [waiting] = await deliveriesOf(api, project, webhook);
      return Date.parse(waiting?.next_attempt_at ?? '') > Date.now() + 600_000;
    });
    const works = await receive((response) => response.end());
    await okIn(api, project, 'updateWebhook', { params: { webhook_id: webhook.id }, body: { url: works.url } });
    expect(await untilDelivered(api, project, webhook, eventId)).toMatchObject({
      status: 'succeeded',
      attempt_count: 2,
    });
  });

  test('that gets another URL during an attempt is not disabled by the former endpoint', async () => {
    lane = api.startLane({ timeoutMs: 3_000 });
    const project = await newProject(api);
    const answers: ServerResponse[] = [];
    const leaving = await receive((response) => void answers.push(response));
    const webhook = await newWebhook(api, project, leaving);
    const eventId = await sendTest(api, project, webhook);
    await until('the attempt is in progress', 5_000, () => answers.length === 1);
    const works = await receive((response) => response.end());
    await okIn(api, project, 'updateWebhook', { params: { webhook_id: webhook.id }, body: { url: works.url } });
    answers[0]?.writeHead(410, { 'Retry-After': '3600' }).end();
    expect(await untilDelivered(api, project, webhook, eventId)).toMatchObject({
      status: 'succeeded',
      attempt_count: 2,
    });
    expect(await getWebhook(project, webhook)).toMatchObject({ enabled: true, disabled_reason: null });
  });

  test('gets nothing while its secret cannot be read, and the delivery says why', async () => {
    lane = api.startLane({ ...quickTimes, windowMs: 200 }, 'another pepper of 24 characters');
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const delivery = await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    expect(delivery).toMatchObject({ status: 'failed', error: expect.stringMatching(/API_KEY_PEPPER has changed/) });
    expect(receiver.received).toEqual([]);
  });

  test('that fails until the time is over gets no more requests, and the delivery has failed', async () => {
    lane = api.startLane({ ...quickTimes, windowMs: 400 });
    const project = await newProject(api);
    const receiver = await receive((response) => response.writeHead(500).end('no'));
    const webhook = await newWebhook(api, project, receiver);
    const delivery = await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    expect(delivery).toMatchObject({ status: 'failed', response_status: 500 });
    expect(delivery.attempt_count).toBe(receiver.received.length);
  });
});

describe('a dead endpoint', () => {
  test('with 10,000 events does not delay the event of another workspace beyond a second', async () => {
    const dead = await newProject(api);
    const silent = await receive(() => undefined);
    const webhook = await newWebhook(api, dead, silent);
    await record(dead, 10_000);
    lane = api.startLane({ timeoutMs: 3_000 });
    await until('the dead endpoint has requests', 5_000, () => silent.received.length > 0);
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const other = await newWebhook(api, project, receiver);
    const waits: number[] = [];
    for (let nth = 1; nth <= 5; nth++) {
      const atMs = Date.now();
      await sendTest(api, project, other);
      await until('the event arrives', 5_000, () => receiver.received.length >= nth);
      waits.push((receiver.received[nth - 1]?.atMs ?? 0) - atMs);
    }
    expect(Math.max(...waits)).toBeLessThan(1_000);
    await until('all deliveries exist', 20_000, async () => {
      const counted = await api.postgres('webhook_deliveries').where({ webhook_id: webhook.id }).count();
      return Number(counted[0]?.count) === 10_000;
    });
    // Two at a time, until it counts as failing; then one, after pauses.
    expect(silent.received.length).toBeLessThan(20);
  });

  test('in a workspace with twenty thousand pending deliveries gets further ones later; other workspaces get theirs', async () => {
    const [full, other] = [await newProject(api), await newProject(api)];
    const receiver = await receive((response) => response.end());
    const [many] = [await newWebhook(api, full, receiver), await newWebhook(api, other, receiver)];
    await insertDeliveries(api, full, many, 20_000);
    const ofMany = () => api.postgres('webhook_deliveries').where({ webhook_id: many.id });
    await ofMany().update({ status: 'pending', expires_at: new Date(Date.now() + 60_000) });
    for (const project of [full, other]) await record(project, 2);
    const counts = [await fanOutEvents(api.postgres, { windowMs: 60_000 })];
    expect([...counts, await fanOutEvents(api.postgres, { windowMs: 60_000 })]).toEqual([2, 0]);
    // Other events than those of prompts do not wait, and an event that waited is tried for an hour.
    const test = await sendTest(api, full, many);
    await api
      .postgres('webhooks')
      .where({ id: many.id })
      .update({ created_at: new Date(Date.now() - 180_000_000) });
    await api
      .postgres('events')
      .where('id', test)
      .update({ created_at: new Date(Date.now() - 90_000_000) });
    await fanOutEvents(api.postgres, { windowMs: 86_400_000 });
    const delivery = await ofMany().where({ event_id: test }).first('expires_at');
    expect(delivery?.expires_at.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
    // Those of a webhook that its owner has disabled do not count.
    await api.postgres('webhooks').where({ id: many.id }).update({ enabled: false });
    expect(await fanOutEvents(api.postgres, { windowMs: 60_000 })).toBe(2);
    await api.postgres('webhooks').where({ id: many.id }).update({ enabled: true });
    await record(full, 2);
    // Those whose time is over end in few looks, and the events that waited get their deliveries.
    await ofMany().update({ expires_at: new Date(Date.now() - 1_000) });
    await until('they have ended', 20_000, async () => {
      await expireDeliveries(api.postgres);
      return (await ofMany().where({ status: 'pending' }).first()) === undefined;
    });
    expect(await fanOutEvents(api.postgres, { windowMs: 60_000 })).toBe(2);
    expect(await ofMany().where({ status: 'pending' })).toHaveLength(2);
  });

  test('in nine workspaces that was never slow before does not delay another workspace beyond a second', async () => {
    const silent = await receive(() => undefined);
    for (let nth = 0; nth < 9; nth++) {
      const dead = await newProject(api);
      await newWebhook(api, dead, { url: `${silent.url}/a` });
      await newWebhook(api, dead, { url: `${silent.url}/b` });
      await record(dead, 20);
    }
    lane = api.startLane({ timeoutMs: 4_000 });
    await until('quick places are used up', 10_000, () => silent.received.length >= 32);
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const atMs = Date.now();
    await sendTest(api, project, webhook);
    await until('the event arrives', 5_000, () => receiver.received.length === 1);
    expect((receiver.received[0]?.atMs ?? 0) - atMs).toBeLessThan(1_000);
    await api.postgres('webhooks').update({ enabled: false });
  });

  test('and another one leave places for a third endpoint of their workspace', async () => {
    const project = await newProject(api);
    const held: ServerResponse[] = [];
    const silent = await receive((response) => held.push(response));
    const receiver = await receive((response) => response.end());
    for (const path of ['a', 'b']) await newWebhook(api, project, { url: `${silent.url}/${path}` });
    await api.postgres('webhooks').where({ project_id: project.id }).update({ slow: true });
    await newWebhook(api, project, receiver);
    await record(project, 20);
    lane = api.startLane({ timeoutMs: 15_000 });
    try {
      await until('the third endpoint has all events', 10_000, () => receiver.received.length === 20);
      expect(held).toHaveLength(2);
    } finally {
      await api.postgres('webhooks').update({ enabled: false });
      for (const response of held) response.end();
    }
  });

  test('in many workspaces leaves places for another workspace', async () => {
    const silent = await receive(() => undefined);
    for (let nth = 0; nth < 12; nth++) {
      const dead = await newProject(api);
      await newWebhook(api, dead, { url: `${silent.url}/a` });
      await newWebhook(api, dead, { url: `${silent.url}/b` });
      await record(dead, 20);
    }
    await api.postgres('webhooks').update({ slow: true });
    lane = api.startLane({ timeoutMs: 5_000 });
    await until('slow deliveries fill their places', 10_000, () => silent.received.length >= 24);
    const project = await newProject(api);
    const receiver = await receive((response) => response.end());
    const webhook = await newWebhook(api, project, receiver);
    const atMs = Date.now();
    await sendTest(api, project, webhook);
    await until('the event arrives', 5_000, () => receiver.received.length === 1);
    expect((receiver.received[0]?.atMs ?? 0) - atMs).toBeLessThan(1_000);
    expect(silent.received).toHaveLength(24);
    await api.postgres('webhooks').update({ enabled: false });
  }, 90_000);
});

test('events and their deliveries are deleted after 30 days', async () => {
  lane = api.startLane();
  const project = await newProject(api);
  const receiver = await receive((response) => response.end());
  const webhook = await newWebhook(api, project, receiver);
  const [old, recent] = [await sendTest(api, project, webhook), await sendTest(api, project, webhook)];
  for (const eventId of [old, recent]) await untilDelivered(api, project, webhook, eventId);
  const age = (eventId: string, days: number) =>
    api
      .postgres('events')
      .where({ id: eventId })
      .update({ created_at: new Date(Date.now() - days * 86_400_000) });
  await age(old, 30.1);
  await age(recent, 29.9);
  await pruneEvents(api);
  expect((await deliveriesOf(api, project, webhook)).map(({ event_id }) => event_id)).toEqual([recent]);
});

/** Returns how many deliveries each statement deletes while `prune` runs. */
async function slicesOf(prune: () => Promise<void>): Promise<number[]> {
  const slices: number[] = [];
  const note = (_response: unknown, { sql, response }: { sql: string; response: { rowCount: number } }) => {
    if (sql.startsWith('delete from "webhook_deliveries"')) slices.push(response.rowCount);
  };
  api.postgres.on('query-response', note);
  await prune();
  api.postgres.off('query-response', note);
  return slices.filter((count) => count > 0);
}

test('an old event with very many deliveries is deleted 500 of them at a time', async () => {
  const project = await newProject(api);
  const receiver = await receive((response) => response.end());
  const webhook = await newWebhook(api, project, receiver);
  await insertDeliveries(api, project, webhook, 1_201);
  await api
    .postgres('events')
    .where({ project_id: project.id })
    .update({ created_at: new Date(Date.now() - 31 * 86_400_000) });
  expect(await slicesOf(() => pruneEvents(api))).toEqual([500, 500, 201]);
  expect(await api.postgres('events').where({ project_id: project.id })).toEqual([]);
});

test('a deleted webhook with very many deliveries gets nothing, and is deleted 500 of them at a time', async () => {
  const project = await newProject(api);
  const receiver = await receive((response) => response.end());
  const deleted = await newWebhook(api, project, { url: `${receiver.url}/deleted` });
  const other = await newWebhook(api, project, { url: `${receiver.url}/other` });
  for (const webhook of [deleted, other]) await insertDeliveries(api, project, webhook, 1_201);
  await api
    .postgres('webhook_deliveries')
    .where({ id: `${deleted.id}_1` })
    .update({
      ...{ status: 'pending', expires_at: new Date(Date.now() + 60_000) },
    });
  await okIn(api, project, 'deleteWebhook', { params: { webhook_id: deleted.id } });
  lane = api.startLane();
  await record(project, 1);
  await until('the event arrives', 5_000, () => receiver.received.length > 0);
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/other']);

  expect(await slicesOf(() => pruneWebhooks(api))).toEqual([500, 500, 201]);
  const left = await api.postgres('webhooks').where({ project_id: project.id }).select('id');
  expect(left).toEqual([{ id: other.id }]);
  expect(await api.postgres('webhook_deliveries').where({ webhook_id: other.id })).toHaveLength(1_202);
});

describe('two workers', () => {
  test('send each event once, two at a time to an endpoint and four of a workspace', async () => {
    const project = await newProject(api);
    let open = 0;
    let openMax = 0;
    const receiver = await receive((response) => {
      openMax = Math.max(openMax, ++open);
      setTimeout(() => {
        open--;
        response.end();
      }, 10);
    });
    for (const name of ['a', 'b', 'c']) await newWebhook(api, project, { url: `${receiver.url}/${name}` });
    await record(project, 40);
    const lanes = [api.startLane(), api.startLane()];
    await until('all events arrive', 20_000, () => receiver.received.length >= 120);
    await Promise.all(lanes.map((each) => each.close()));
    expect(receiver.received).toHaveLength(120);
    expect(new Set(receiver.received.map(({ id, path }) => `${path} ${id}`)).size).toBe(120);
    expect(openMax).toBe(4);
  });
});
