import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { openSecret, sealingKeyOf } from '../../lib/webhook-secret.ts';
import { connectPostgres, type Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Redis } from '../../stores/redis/client.ts';
import { countsKeys } from '../../stores/redis/names.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { recordAudit } from '../audit/index.ts';
import { lockAttempt, storeAttempt, type Verdict } from './attempt-store.ts';
import { type ClaimedDelivery, claimDeliveries, expireDeliveries } from './delivery-queue-store.ts';
import { fanOutEvents, fanOutPage } from './fan-out-events.ts';
import { failuresOfProbe, judgeAttempt, type WebhookTimes, webhookTimes } from './judge-attempt.ts';
import { type Resolve, resolverFor, type Sending, type SendResult, sendWebhook } from './send-webhook.ts';
import type { TargetPolicy } from './target.ts';

/**
 * Deliveries in progress. One worker has 32 quick ones and begins 24 to endpoints that were slow. One that
 * takes long is no longer quick, so that it leaves its place to others. Over all workers, an endpoint has 2
 * and a workspace 4, and slow ones begin while they have fewer than 2 of these.
 */
const places = {
  ...{ quick: 32, slow: 24, total: 128, failuresOfProbe },
  ...{ perEndpoint: 2, perWorkspace: 4, slowPerWorkspace: 2 },
};
/** Its own connections, so that deliveries and ingestion do not wait for each other. */
const connectionsMax = 2;
/** After an error of the database, which the next look would meet as well. */
const troubleRestMs = 1_000;
/** Another worker claims for about so long. */
const busyRestMs = 20;

export interface WebhookLaneDeps {
  databaseUrl: string;
  redis: Redis;
  logger: Logger;
  apiKeyPepper: string;
  policy: TargetPolicy;
  /** Of the product, for the header `User-Agent`. */
  version: string;
  /** For tests of names. */
  resolve?: Resolve;
}

interface Lane extends Omit<WebhookLaneDeps, 'resolve'> {
  postgres: Postgres;
  sending: Sending;
  sealingKey: Buffer;
  times: WebhookTimes;
  inProgress: Map<string, { slow: boolean; startedAtMs: number; done: Promise<void> }>;
  stopping: AbortController;
  /** Ends the rest between two looks. */
  wake: () => void;
}

/**
 * Sends events to webhooks until it is closed: creates deliveries, claims those that are due and makes
 * attempts beside each other. Postgres is the queue, so nothing is lost with a worker.
 */
export function startWebhookLane(
  deps: WebhookLaneDeps,
  given: Partial<WebhookTimes> = {},
): { close: () => Promise<void> } {
  const times = { ...webhookTimes, ...given };
  const { policy, resolve = resolverFor(policy) } = deps;
  const lane: Lane = {
    ...deps,
    postgres: connectPostgres(deps.databaseUrl, connectionsMax),
    sending: { policy, resolve, timeoutMs: times.timeoutMs },
    sealingKey: sealingKeyOf(deps.apiKeyPepper),
    times,
    inProgress: new Map(),
    stopping: new AbortController(),
    wake: () => undefined,
  };
  const ended = look(lane);
  return {
    async close() {
      lane.stopping.abort();
      lane.wake();
      await ended;
      await Promise.all([...lane.inProgress.values()].map(({ done }) => done));
      await lane.postgres.destroy();
    },
  };
}

async function look(lane: Lane): Promise<void> {
  const { stopping, logger } = lane;
  let isTroubled = false;
  while (!stopping.signal.aborted) {
    const resting = new AbortController();
    lane.wake = () => resting.abort();
    const restMs = await step(lane).catch((error: unknown) => {
      // An outage is logged once.
      if (!isTroubled) logger.warn({ err: error }, 'webhooks could not be delivered');
      return undefined;
    });
    isTroubled = restMs === undefined;
    await sleep(restMs ?? troubleRestMs, undefined, { signal: resting.signal }).catch(() => undefined);
  }
}

/** Returns the milliseconds to rest. An attempt that ends wakes the lane earlier. */
async function step(lane: Lane): Promise<number> {
  const { postgres, times, inProgress, stopping } = lane;
  const fannedOut = await fanOutEvents(postgres, times);
  await expireDeliveries(postgres);
  const free = freePlaces(lane);
  const { leaseMs, slowMs } = times;
  if (free.total > 0 && !stopping.signal.aborted) {
    const claimed = await claimDeliveries(postgres, free, { lease: randomUUID(), leaseMs, slowMs });
    if (claimed === undefined) return busyRestMs;
    for (const delivery of claimed) {
      const done = deliver(lane, delivery).finally(() => {
        inProgress.delete(delivery.id);
        lane.wake();
      });
      inProgress.set(delivery.id, { slow: delivery.slow, startedAtMs: Date.now(), done });
    }
  }
  return fannedOut >= fanOutPage.events ? 0 : times.pollMs;
}

function freePlaces({ inProgress, times }: Lane): typeof places {
  const longAgoMs = Date.now() - times.slowMs;
  const slow = [...inProgress.values()].filter((each) => each.slow || each.startedAtMs < longAgoMs).length;
  return {
    ...places,
    total: places.total - inProgress.size,
    slow: Math.max(0, places.slow - slow),
    quick: Math.max(0, places.quick - (inProgress.size - slow)),
  };
}

/** Makes one attempt. If its outcome cannot be stored, the lease ends and the attempt is repeated. */
async function deliver(lane: Lane, delivery: ClaimedDelivery): Promise<void> {
  const { postgres, times, redis, logger } = lane;
  const startedAt = new Date();
  const result = await attempt(lane, delivery, startedAt);
  const durationMs = Date.now() - startedAt.getTime();
  try {
    const verdict = await inTransaction(postgres, async (transaction) => {
      const state = await lockAttempt(transaction, delivery);
      if (state === undefined) return undefined;
      const known = { ...state, attempts: delivery.attempts };
      const judged = judgeAttempt(times, known, { result, durationMs, random: Math.random() });
      const { isOfFormerUrl } = state;
      await storeAttempt(transaction, delivery, { result, verdict: judged, startedAt, durationMs, isOfFormerUrl });
      if (judged.disabled !== null) await auditDisabled(transaction, delivery, judged);
      return judged;
    });
    // Not awaited: deliveries go on while Redis is away.
    if (verdict !== undefined) redis.hincrby(countsKeys.webhookAttempts, outcomeOf(verdict), 1).catch(() => undefined);
  } catch (error) {
    logger.warn({ err: error, delivery_id: delivery.id }, 'the outcome of a webhook could not be stored');
  }
}

const outcomeOf = ({ status }: Verdict) => (status === 'pending' ? 'retried' : status);

async function attempt(lane: Lane, delivery: ClaimedDelivery, startedAt: Date): Promise<SendResult> {
  const { project_id, webhook_id, secret, previous_secret, event_id, url } = delivery;
  const body = webhookBody(delivery);
  const secrets = [secret, previous_secret].flatMap((sealed) =>
    sealed === null ? [] : [openSecret(lane.sealingKey, sealingContext(project_id, webhook_id), sealed)],
  );
  const signatures = secrets.flatMap((opened) =>
    opened === undefined ? [] : [new Webhook(opened).sign(event_id, startedAt, body)],
  );
  if (secrets[0] === undefined) return { status: null, body: null, error: unreadableSecret, retryAfterMs: null };
  const headers = {
    ...webhookHeaders(event_id, startedAt),
    'user-agent': `Promptlane-Webhooks/${lane.version}`,
    'webhook-signature': signatures.join(' '),
  };
  return sendWebhook(lane.sending, { url, headers, body });
}

const unreadableSecret =
  'The secret of the webhook cannot be read, because API_KEY_PEPPER has changed. Rotate the secret';

/** Returns the context in which the secret of a webhook is sealed. */
export const sealingContext = (projectId: string, webhookId: string) => `${projectId}|${webhookId}`;

/** Returns the body of a request. It is the same for all attempts. */
export function webhookBody({
  type,
  occurred_at,
  data,
}: Pick<ClaimedDelivery, 'type' | 'occurred_at' | 'data'>): string {
  return JSON.stringify({ type, timestamp: occurred_at.toISOString(), data });
}

/** Returns the headers that do not depend on the version and the secret of the sender. */
export function webhookHeaders(eventId: string, startedAt: Date): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(startedAt.getTime() / 1_000)),
  };
}

async function auditDisabled(transaction: Postgres, delivery: ClaimedDelivery, { disabled }: Verdict): Promise<void> {
  await recordAudit(transaction, {
    workspaceId: delivery.workspace_id,
    projectId: delivery.project_id,
    actor: { type: 'system', id: null, requestId: null },
    action: 'webhook.disabled',
    targetType: 'webhook',
    targetId: delivery.webhook_id,
    details: { reason: disabled, delivery_id: delivery.id },
  });
}
