import type { Postgres } from '../../stores/postgres/client.ts';
import type { ClaimedDelivery } from './delivery-queue-store.ts';
import type { SendResult } from './send-webhook.ts';

/** What is known of an endpoint and a delivery when an attempt has ended. */
export interface AttemptState {
  consecutiveFailures: number;
  /** Since the first failure after the last success; 0 if there is none. */
  failingForMs: number;
  expiresInMs: number;
  /** Whether the webhook got another URL since the attempt began. */
  isOfFormerUrl: boolean;
}

/** What follows from an attempt. */
export interface Verdict {
  status: 'pending' | 'succeeded' | 'failed';
  /** Until the next attempt of a pending delivery. */
  retryInMs: number;
  /** Until the next attempt of any delivery to the endpoint. */
  pauseMs: number | null;
  slow: boolean;
  disabled: 'gone' | 'failing' | null;
}

/**
 * Locks the webhook and the delivery until the transaction ends. Returns undefined if the webhook was
 * deleted, or another worker has claimed the delivery meanwhile.
 */
export async function lockAttempt(
  transaction: Postgres,
  { id, lease, webhook_id, workspace_id, url }: ClaimedDelivery,
): Promise<AttemptState | undefined> {
  const webhook = await transaction('webhooks')
    .where({ id: webhook_id, workspace_id, deleted_at: null })
    // Makers of deliveries, which reference it, do not wait.
    .forNoKeyUpdate()
    .first<{ url: string; consecutive_failures: number; failing_for: string } | undefined>(
      'url',
      'consecutive_failures',
      transaction.raw("extract(epoch from coalesce(now() - failing_since, interval '0')) * 1000 as failing_for"),
    );
  const delivery = await transaction('webhook_deliveries')
    .where({ id, lease, workspace_id, status: 'pending' })
    .forUpdate()
    .first<{ expires_in: string } | undefined>(
      transaction.raw('extract(epoch from expires_at - now()) * 1000 as expires_in'),
    );
  if (webhook === undefined || delivery === undefined) return undefined;
  const { consecutive_failures, failing_for } = webhook;
  return {
    consecutiveFailures: consecutive_failures,
    failingForMs: Number(failing_for),
    expiresInMs: Number(delivery.expires_in),
    isOfFormerUrl: webhook.url !== url,
  };
}

/** Stores an attempt and what follows from it. */
export async function storeAttempt(
  transaction: Postgres,
  { id, webhook_id, workspace_id, project_id, url, attempts }: ClaimedDelivery,
  {
    result,
    verdict,
    startedAt,
    durationMs,
    isOfFormerUrl,
  }: { result: SendResult; verdict: Verdict; startedAt: Date; durationMs: number; isOfFormerUrl: boolean },
): Promise<void> {
  const after = (ms: number) => transaction.raw("now() + ? * interval '1 millisecond'", [Math.round(ms)]);
  const { status, retryInMs, pauseMs, slow, disabled } = verdict;
  const isPending = status === 'pending';
  await transaction('webhook_attempts').insert({
    ...{ delivery_id: id, number: attempts, project_id, url, started_at: startedAt },
    ...{
      duration_ms: Math.round(durationMs),
      response_status: result.status,
      response_body: result.body,
      error: result.error,
    },
  });
  await transaction('webhook_deliveries')
    .where({ id, workspace_id })
    .update({
      ...{ status, lease: null, leased_until: null },
      ...(isPending ? { next_attempt_at: after(retryInMs) } : { finished_at: transaction.fn.now() }),
    });
  // It says nothing about the endpoint that the webhook has now.
  if (isOfFormerUrl) return;
  const failed = status !== 'succeeded';
  await transaction('webhooks')
    .where({ id: webhook_id, workspace_id })
    .update({
      ...{ slow, last_attempt_at: transaction.fn.now(), retry_at: pauseMs === null ? null : after(pauseMs) },
      consecutive_failures: failed ? transaction.raw('consecutive_failures + 1') : 0,
      failing_since: failed ? transaction.raw('coalesce(failing_since, now())') : null,
      ...(disabled === null ? {} : { enabled: false, disabled_reason: disabled, updated_at: transaction.fn.now() }),
    });
}
