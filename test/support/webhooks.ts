import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { startWebhookLane } from '../../src/domains/webhooks/jobs.ts';
import { connectRequestRedis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type CallOptions, type ProjectOfTest, startApi, type TestApi } from './api.ts';
import { newDatabase } from './own-database.ts';
import { until } from './until.ts';

export interface WireWebhook {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
  disabled_reason: string | null;
  consecutive_failures: number;
  failing_since: string | null;
  last_attempt_at: string | null;
  previous_secret_until: string | null;
  secret?: string;
}

export interface WireDelivery {
  id: string;
  event_id: string;
  event_type: string;
  redelivery_of: string | null;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  finished_at: string | null;
  response_status: number | null;
  error: string | null;
}

export interface WireDeliveryDetail extends WireDelivery {
  request: { url: string; headers: Record<string, string>; body: string };
  response_body: string | null;
  attempts: { number: number; response_status: number | null; response_body: string | null; error: string | null }[];
}

export interface Received {
  id: string;
  atMs: number;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
}

export interface Receiver {
  url: string;
  received: Received[];
  close(): Promise<void>;
}

/** A receiver of webhooks on loopback. `answer` is called with the number of the request, from 1. */
export async function startReceiver(answer: (response: ServerResponse, nth: number) => void): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    const { headers, url = '' } = request;
    const id = String(headers['webhook-id']);
    const nth = received.push({ id, atMs: Date.now(), path: url, headers, text, body: JSON.parse(text) });
    answer(response, nth);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Expects the public library to accept a request. */
export function expectSigned({ headers, text }: Received, secret = ''): void {
  expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual(JSON.parse(text));
}

/** Short waits: what takes hours in production takes a second. */
export const quickTimes = { pollMs: 20, retriesMs: [20, 40, 60, 80], timeoutMs: 1_000 };

export interface WebhookApi extends TestApi {
  /** Starts a lane like that of a worker. The API's own worker of this run uses another database. */
  startLane(times?: Parameters<typeof startWebhookLane>[1], apiKeyPepper?: string): ReturnType<typeof startWebhookLane>;
}

/** Starts the API on a database of its own, so that no other worker sends its events. */
export async function startWebhookApi(): Promise<WebhookApi> {
  const policy = { allowPrivate: true, proxyUrl: undefined };
  const api = await startApi({ databaseUrl: await newDatabase(), webhookTargets: policy });
  const redis = connectRequestRedis(api.config.redisUrl);
  const logger = createLogger({ level: 'error', name: 'test' });
  return {
    ...api,
    startLane: (times = quickTimes, apiKeyPepper = api.config.apiKeyPepper) =>
      startWebhookLane({ ...api.config, apiKeyPepper, redis, logger, policy, version: '0.0.1' }, times),
    async close() {
      redis.disconnect();
      await api.close();
    },
  };
}

/** Calls an operation in a project with its key. The response must be successful. */
export async function okIn<T>(api: TestApi, project: ProjectOfTest, operationId: string, options: CallOptions = {}) {
  const params = { project_id: project.id, ...options.params };
  const answer = await api.call<T>(operationId, { key: project.key, ...options, params });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

/** Creates a webhook with a secret. */
export function newWebhook(
  api: TestApi,
  project: ProjectOfTest,
  { url, events = ['prompt.deleted'] }: { url: string; events?: string[] },
) {
  const options = { body: { url, events } };
  return okIn<WireWebhook & { secret: string }>(api, project, 'createWebhook', options);
}

/** Stores deliveries of one event to a webhook that have ended. */
export async function insertDeliveries(
  { postgres }: Pick<TestApi, 'postgres'>,
  project: ProjectOfTest,
  { id }: { id: string },
  count: number,
): Promise<void> {
  const owner = { workspace_id: project.workspaceId, project_id: project.id };
  const eventId = `evt_of_${id}`;
  await postgres('events').insert({
    ...{ ...owner, id: eventId, type: 'webhook.test', data: '{}', fanned_out_at: new Date() },
  });
  await postgres.raw(
    `insert into webhook_deliveries
       (id, workspace_id, project_id, webhook_id, event_id, redelivery_of, status, next_attempt_at, expires_at)
     select :id || '_' || n, :workspace_id, :project_id, :id, :eventId, 'dlv_of_the_test', 'succeeded', now(), now()
     from generate_series(1, cast(:count as integer)) as n`,
    { ...owner, id, eventId, count },
  );
}

/** Sends a test event to a webhook. Resolves to the id of the event. */
export async function sendTest(api: TestApi, project: ProjectOfTest, { id }: { id: string }): Promise<string> {
  return (await okIn<{ event_id: string }>(api, project, 'testWebhook', { params: { webhook_id: id } })).event_id;
}

export async function deliveriesOf(
  api: TestApi,
  project: ProjectOfTest,
  { id }: { id: string },
  query: CallOptions['query'] = {},
): Promise<WireDelivery[]> {
  const options = { params: { webhook_id: id }, query: { limit: 100, ...query } };
  return (await okIn<{ data: WireDelivery[] }>(api, project, 'listWebhookDeliveries', options)).data;
}

/** Waits until the delivery of an event has ended. */
export function untilDelivered(
  api: TestApi,
  project: ProjectOfTest,
  webhook: { id: string },
  eventId: string,
): Promise<WireDelivery> {
  return until('the delivery has ended', 10_000, async () =>
    (await deliveriesOf(api, project, webhook)).find(
      ({ event_id, finished_at }) => event_id === eventId && finished_at !== null,
    ),
  );
}
