import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { checkJsonContentType } from '../../http/body.ts';
import { parseJson } from '../../http/parse-json.ts';
import { NotFoundError, UnauthenticatedError, UnsupportedMediaTypeError } from '../../lib/errors.ts';
import { inSharedTurn } from '../../lib/pace.ts';
import { within } from '../../lib/within.ts';
import type { IdentityProviderName } from '../../queue/identity-event.ts';
import type { IdentityEventPublisher } from '../../queue/identity-event-publisher.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { hasIdentityEvent } from './identity-event-store.ts';
import { identityProviders } from './identity-providers.ts';

export interface ReceiveIdentityWebhookDeps {
  postgres: Postgres;
  identityEvents: IdentityEventPublisher;
  /**
   * Checks that Redis can keep an event.
   * @throws UnavailableError when it cannot
   */
  assertQueueSafe: () => void;
  secrets: Readonly<Record<IdentityProviderName, readonly string[]>>;
  /** Counts the outcome of an event. No caller waits for it. */
  count: (provider: IdentityProviderName, outcome: 'duplicate' | 'ignored') => void;
}

export interface SignedRequest {
  headers: IncomingHttpHeaders;
  /** Reads the body as it was sent. */
  receive: (bytesMax: number) => Promise<Buffer>;
}

export interface Receipt {
  eventId: string;
  type: string;
  /** Queued or applied before. */
  duplicate: boolean;
  /** The type of the event changes nothing here. */
  ignored: boolean;
}

export const webhookBytesMax = 256 * 1024;
const lookUpTimeoutMs = 300;

/**
 * Receives one event of an identity provider: verifies its bytes, calls `admit`, reads the change
 * and queues it durably. Resolves after that.
 * @throws NotFoundError before anything is read, when the provider is unknown or not configured
 * @throws UnauthenticatedError, TooLargeError, UnsupportedMediaTypeError, MalformedError or
 * InvalidError for a bad delivery
 * @throws UnavailableError when the event could not be queued, and any error of `admit`
 */
export async function receiveIdentityWebhook(
  deps: ReceiveIdentityWebhookDeps,
  name: string,
  { headers, receive }: SignedRequest,
  admit: () => Promise<void>,
): Promise<Receipt> {
  const { providerName, provider, secrets } = findProvider(deps, name);
  const body = await readSignedBytes({ headers, receive });
  // Callers without credentials delay only the events of this provider.
  const line = `events of ${providerName}`;
  if (!(await inSharedTurn(line, () => provider.verify({ headers, body }, secrets)))) throw unverified();
  await admit();
  const event = { headers, payload: await inSharedTurn(line, () => parseJson(body)) };
  const receipt = { eventId: provider.extractId(event), type: provider.extractType(event) };
  const change = provider.toChange(event);
  if (change === undefined) {
    deps.count(providerName, 'ignored');
    return { ...receipt, duplicate: false, ignored: true };
  }
  const occurredAtMs = provider.extractOccurredAt(event);
  if (await wasApplied(deps.postgres, providerName, receipt.eventId)) {
    deps.count(providerName, 'duplicate');
    return { ...receipt, duplicate: true, ignored: false };
  }
  deps.assertQueueSafe();
  const { duplicate } = await deps.identityEvents.publish(jobIdOf(providerName, receipt.eventId), {
    v: 1,
    provider: providerName,
    ...receipt,
    occurredAtMs,
    change,
  });
  if (duplicate) deps.count(providerName, 'duplicate');
  return { ...receipt, duplicate, ignored: false };
}

function findProvider({ secrets }: ReceiveIdentityWebhookDeps, name: string) {
  const known = Object.keys(identityProviders).find((candidate) => candidate === name) as
    | IdentityProviderName
    | undefined;
  if (known === undefined || secrets[known].length === 0) {
    throw new NotFoundError('provider_not_found', 'The identity provider does not exist or is not configured.');
  }
  return { providerName: known, provider: identityProviders[known], secrets: secrets[known] };
}

/**
 * Reads the signed body. The signature covers the sent bytes, so a body with a content coding
 * cannot be verified.
 */
async function readSignedBytes({ headers, receive }: SignedRequest): Promise<Buffer> {
  checkJsonContentType(headers['content-type']);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UnsupportedMediaTypeError(
      'unsupported_content_encoding',
      `A signed body must not have a Content-Encoding; given ${JSON.stringify(encoding.slice(0, 80))}`,
    );
  }
  return receive(webhookBytesMax);
}

/** Creates the error for a failed verification. It does not tell which component was wrong. */
function unverified(): UnauthenticatedError {
  return new UnauthenticatedError(
    'invalid_signature',
    'The signature is missing or wrong, or its time is too far from the current time.',
  );
}

/**
 * Returns whether the event was applied. If the database does not answer in time, returns false:
 * the event is queued again, and the worker detects the duplicate.
 */
async function wasApplied(postgres: Postgres, provider: IdentityProviderName, eventId: string): Promise<boolean> {
  return within(lookUpTimeoutMs, () => hasIdentityEvent(postgres, provider, eventId)).catch(() => false);
}

/** Returns a hash, because BullMQ allows no colon in an id and an event id may contain one. */
function jobIdOf(provider: IdentityProviderName, eventId: string): string {
  return createHash('sha256').update(`${provider} ${eventId}`).digest('hex');
}
