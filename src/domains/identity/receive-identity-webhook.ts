import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { checkJsonContentType } from '../../http/body.ts';
import { parseJson } from '../../http/parse-json.ts';
import { NotFoundError, UnauthenticatedError, UnsupportedMediaTypeError } from '../../lib/errors.ts';
import { within } from '../../lib/within.ts';
import type { IdentityProviderName } from '../../queue/identity-event.ts';
import type { IdentityEventPublisher } from '../../queue/identity-event-publisher.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { hasIdentityEvent } from './identity-event-store.ts';
import { identityProviders } from './identity-providers.ts';

export interface ReceiveIdentityWebhookDeps {
  postgres: Postgres;
  identityEvents: IdentityEventPublisher;
  /** Throws UnavailableError while Redis would not keep an event. */
  assertQueueSafe: () => void;
  secrets: Readonly<Record<IdentityProviderName, readonly string[]>>;
  /** Counts what became of an event; nobody waits for it. */
  count: (provider: IdentityProviderName, outcome: 'duplicate' | 'ignored') => void;
}

export interface SignedRequest {
  headers: IncomingHttpHeaders;
  /** Reads its body as it was sent. */
  receive: (bytesMax: number) => Promise<Buffer>;
}

export interface Receipt {
  eventId: string;
  type: string;
  /** Queued or applied before. */
  duplicate: boolean;
  /** Of a kind that changes nothing here. */
  ignored: boolean;
}

export const webhookBytesMax = 256 * 1024;
const lookUpTimeoutMs = 300;

/**
 * Takes one event of an identity provider: verifies its bytes, has it admitted, reads what it changes and makes that durable for the
 * worker. Resolves only then. Throws NotFoundError before anything is read, UnauthenticatedError, TooLargeError, UnsupportedMediaTypeError,
 * MalformedError, InvalidError, what `admit` throws, or UnavailableError when it could not be queued.
 */
export async function receiveIdentityWebhook(
  deps: ReceiveIdentityWebhookDeps,
  name: string,
  { headers, receive }: SignedRequest,
  admit: () => Promise<void>,
): Promise<Receipt> {
  const { providerName, provider, secrets } = findProvider(deps, name);
  const body = await readSignedBytes({ headers, receive });
  if (!provider.verify({ headers, body }, secrets)) throw unverified();
  await admit();
  const event = { headers, payload: parseJson(body) };
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
    throw new NotFoundError('provider_not_found', 'There is no such identity provider, or it is not configured.');
  }
  return { providerName: known, provider: identityProviders[known], secrets: secrets[known] };
}

/** What was signed is the body itself, so one that was encoded on its way cannot be verified. */
async function readSignedBytes({ headers, receive }: SignedRequest): Promise<Buffer> {
  checkJsonContentType(headers['content-type']);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UnsupportedMediaTypeError(
      'unsupported_content_encoding',
      `A signed body comes without Content-Encoding; given ${JSON.stringify(encoding.slice(0, 80))}`,
    );
  }
  return receive(webhookBytesMax);
}

/** Which part was wrong is nobody's business. */
function unverified(): UnauthenticatedError {
  return new UnauthenticatedError('invalid_signature', 'The signature is missing, wrong or too far from now.');
}

/** Where the database does not say in time the event is queued again, which changes nothing: the worker knows. */
async function wasApplied(postgres: Postgres, provider: IdentityProviderName, eventId: string): Promise<boolean> {
  return within(lookUpTimeoutMs, () => hasIdentityEvent(postgres, provider, eventId)).catch(() => false);
}

/** A hash, because BullMQ allows no colon in an id and events may have any. */
function jobIdOf(provider: IdentityProviderName, eventId: string): string {
  return createHash('sha256').update(`${provider} ${eventId}`).digest('hex');
}
