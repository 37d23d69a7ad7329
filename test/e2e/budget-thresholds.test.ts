import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { countsKeys } from '../../src/stores/redis/names.ts';
import { aBudget, pricedCall } from '../support/budgets.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { sendSpans } from '../support/traces.ts';
import { until } from '../support/until.ts';
import { expectSigned, type Receiver, startReceiver } from '../support/webhooks.ts';

let stack: Stack;
let project: Project;
let postgres: Postgres;
let receiver: Receiver;
beforeAll(async () => {
  stack = await startStack({ env: { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' } });
  await stack.startWorker();
  project = await stack.createProject('of the test');
  postgres = connectPostgres(stack.engines.postgres.url, 1);
  receiver = await startReceiver((response) => response.end());
});
afterAll(async () => {
  await receiver?.close();
  await postgres?.destroy();
  await stack?.stop();
});

async function send<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T> {
  const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}${path}`, {
    ...{ method, headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey } },
    body: JSON.stringify(body),
  });
  if (response.status >= 300) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const batches = 20;
/** Sends 20 bodies with one call each at the same time. */
const sendBatches = (nano: bigint) =>
  Promise.all(
    Array.from({ length: batches }, () => sendSpans({ url: stack.apiUrl }, project.apiKey, [pricedCall(nano)])),
  );

/** Waits until a check that began after now has ended. One runs every 10 s, and one may be under way. */
async function untilChecked(): Promise<void> {
  for (let check = 0; check < 2; check++) {
    const before = await stack.redis.hget(countsKeys.budgets, 'checked_at_ms');
    await until(
      'a check',
      40_000,
      async () => (await stack.redis.hget(countsKeys.budgets, 'checked_at_ms')) !== before,
    );
  }
}

const events = () =>
  postgres('events').where({ project_id: project.id, type: 'budget.threshold_reached' }).select('id', 'data');

test('what 20 concurrent batches in two workers reach is sent once per threshold, though nobody reads the budget', async () => {
  showLogsOnFailure(stack);
  const { secret } = await send<{ secret: string }>('POST', '/webhooks', {
    ...{ url: receiver.url, events: ['budget.threshold_reached'] },
  });
  await send('PUT', '/budget', { ...aBudget, amount: '1', thresholds: [0.5, 0.8, 1] });
  await sendBatches(45_000_000n);
  await until('two thresholds', 60_000, () => receiver.received.length >= 2);
  await sendBatches(45_000_000n);
  await until('three thresholds', 60_000, () => receiver.received.length >= 3);
  await untilChecked();

  expect(receiver.received.map(({ body }) => body.data.threshold).toSorted()).toEqual([0.5, 0.8, 1]);
  expect((await events()).map(({ id }) => id).toSorted()).toEqual(receiver.received.map(({ id }) => id).toSorted());
  for (const request of receiver.received) {
    expectSigned(request, secret);
    expect(request.body.data).toMatchObject({
      ...{
        project_id: project.id,
        amount: '1.000000',
        currency: 'USD',
        period: 'monthly',
        budget_version: 1,
        scope: null,
      },
    });
  }
  const last = receiver.received.find(({ body }) => body.data.threshold === 1);
  expect(Number(last?.body.data.spend)).toBeGreaterThanOrEqual(1);

  await send('PUT', '/budget', { ...aBudget, amount: '3', thresholds: [0.5, 0.8] });
  await until('the threshold of the new version', 60_000, () => receiver.received.length === 4);
  expect(receiver.received.slice(3).map(({ body }) => body.data)).toMatchObject([
    { threshold: 0.5, spend: '1.800000', amount: '3.000000', budget_version: 2 },
  ]);
}, 240_000);
