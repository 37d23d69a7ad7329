import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest } from '../../support/api.ts';
import { until } from '../../support/until.ts';
import {
  deliveriesOf,
  expectSigned,
  newWebhook,
  okIn,
  type Receiver,
  sendTest,
  startReceiver,
  startWebhookApi,
  untilDelivered,
  type WebhookApi,
  type WireDelivery,
  type WireDeliveryDetail,
  type WireWebhook,
} from '../../support/webhooks.ts';

let api: WebhookApi;
let lane: { close: () => Promise<void> };
let project: ProjectOfTest;
let receiver: Receiver;
let webhook: WireWebhook;

beforeAll(async () => {
  api = await startWebhookApi();
  lane = api.startLane();
  project = await newProject(api);
  receiver = await startReceiver((response, nth) =>
    response
      .writeHead(nth === 1 ? 500 : 200, { 'Content-Type': 'text/plain' })
      .end(`answer\0 ${nth} ${'x'.repeat(5_000)}`),
  );
  webhook = await newWebhook(api, project, receiver);
});
afterAll(async () => {
  await lane.close();
  await receiver.close();
  await api.close();
});

const paramsOf = (deliveryId = '', webhookId = webhook.id) => ({
  ...{ project_id: project.id, webhook_id: webhookId, delivery_id: deliveryId },
});
const detailOf = (id: string) => okIn<WireDeliveryDetail>(api, project, 'getWebhookDelivery', { params: paramsOf(id) });
const redeliver = (id: string, webhookId = webhook.id) =>
  api.call<WireDelivery>('redeliverWebhookDelivery', { key: project.key, params: paramsOf(id, webhookId) });

describe('getWebhookDelivery', () => {
  test('200: has the request without the signature, and every attempt with its response', async () => {
    const delivery = await untilDelivered(api, project, webhook, await sendTest(api, project, webhook));
    const detail = await detailOf(delivery.id);
    const request = receiver.received[1];
    expect(detail).toMatchObject({
      ...delivery,
      request: {
        url: receiver.url,
        body: request?.text,
        headers: {
          'content-type': 'application/json',
          'webhook-id': delivery.event_id,
          'webhook-timestamp': request?.headers['webhook-timestamp'],
        },
      },
      response_body: `answer 2 ${'x'.repeat(5_000)}`.slice(0, 4_095),
      attempts: [
        { number: 1, url: receiver.url, response_status: 500, error: 'The receiver responded with 500' },
        { number: 2, url: receiver.url, response_status: 200, error: null },
      ],
    });
    expect(JSON.stringify(detail)).not.toContain('v1,');
  });

  test('404: it does not exist, or belongs to another webhook', async () => {
    const other = await newWebhook(api, project, receiver);
    const [delivery] = await deliveriesOf(api, project, webhook);
    for (const params of [paramsOf('dlv_1'), paramsOf(delivery?.id, other.id)]) {
      const answer = await api.call('getWebhookDelivery', { key: project.key, params });
      expectProblem(answer, 404, 'delivery_not_found');
    }
  });
});

describe('listWebhookDeliveries', () => {
  test('200: newest first, in pages, and by status', async () => {
    const own = await newProject(api);
    const target = await newWebhook(api, own, receiver);
    const ids: string[] = [];
    for (let nth = 0; nth < 3; nth++) {
      ids.unshift((await untilDelivered(api, own, target, await sendTest(api, own, target))).id);
    }
    const list = (query: Record<string, string | number>) =>
      okIn<{ data: WireDelivery[]; page: { next_cursor: string } }>(api, own, 'listWebhookDeliveries', {
        ...{ params: { webhook_id: target.id }, query },
      });
    const first = await list({ limit: 2 });
    const rest = await list({ limit: 2, cursor: first.page.next_cursor });
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(ids);
    expect((await list({ status: 'succeeded' })).data).toHaveLength(3);
    expect((await list({ status: 'failed' })).data).toEqual([]);
  });

  test('404: the webhook does not exist; 400: the status is unknown', async () => {
    const answer = await api.call('listWebhookDeliveries', { key: project.key, params: paramsOf('', 'whk_1') });
    expectProblem(answer, 404, 'webhook_not_found');
    const options = { key: project.key, params: paramsOf(), query: { status: 'lost' } };
    expectProblem(await api.call('listWebhookDeliveries', options), 400, 'invalid_parameter');
  });
});

describe('redeliverWebhookDelivery', () => {
  test('202: the receiver gets the same id and body again, in another delivery', async () => {
    const own = await newProject(api);
    const target = await newWebhook(api, own, receiver);
    const first = await untilDelivered(api, own, target, await sendTest(api, own, target));
    const params = { webhook_id: target.id, delivery_id: first.id };
    const again = await okIn<WireDelivery>(api, own, 'redeliverWebhookDelivery', { params });
    expect(again).toMatchObject({ status: 'pending', event_id: first.event_id, redelivery_of: first.id });
    await until('the second delivery has ended', 5_000, async () => {
      const options = { params: { webhook_id: target.id, delivery_id: again.id } };
      return (await okIn<WireDelivery>(api, own, 'getWebhookDelivery', options)).status === 'succeeded';
    });
    const requests = receiver.received.filter(({ id }) => id === first.event_id);
    expect(requests).toHaveLength(2);
    for (const request of requests) expectSigned(request, target.secret);
    expect(new Set(requests.map(({ text }) => text)).size).toBe(1);
  });

  test('404: the delivery does not exist', async () => {
    expectProblem(await redeliver('dlv_1'), 404, 'delivery_not_found');
  });

  test('409: while the event is being sent, and while the webhook is disabled', async () => {
    const own = await startReceiver(() => undefined);
    const target = await newWebhook(api, project, own);
    await sendTest(api, project, target);
    const pending = await until(
      'the delivery exists',
      5_000,
      async () => (await deliveriesOf(api, project, target))[0],
    );
    expectProblem(await redeliver(pending.id, target.id), 409, 'delivery_pending');
    await okIn(api, project, 'updateWebhook', { params: { webhook_id: target.id }, body: { enabled: false } });
    expectProblem(await redeliver(pending.id, target.id), 409, 'webhook_disabled');
    await own.close();
  });
});
