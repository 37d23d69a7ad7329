import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { Delivery, ReceivedEvent } from '../identity-provider.ts';

interface SignedHeaders {
  id: string;
  timestamp: string;
  signature: string;
}

/**
 * Svix, and so Clerk, sends the headers with its own prefix. If a delivery has both prefixes, only
 * the first one is used for all fields.
 */
const prefixes = ['svix', 'webhook'] as const;

/** Twenty signatures of 47 characters. A rotation needs two; the library computes the expected one again for each. */
const signatureCharsMax = 1_000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Verifies Standard Webhooks 1.0 with symmetric signatures
 * (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md). The library also
 * accepts letters after the timestamp, and replaces invalid UTF-8. This function rejects both.
 */
export function verifyStandardWebhook({ headers, body }: Delivery, secrets: readonly string[]): boolean {
  const signed = signedHeaders(headers);
  const text = decode(body);
  if (signed === undefined || text === undefined || !/^\d{10}$/.test(signed.timestamp)) return false;
  if (signed.signature.length > signatureCharsMax) return false;
  const library = {
    'webhook-id': signed.id,
    'webhook-timestamp': signed.timestamp,
    'webhook-signature': signed.signature,
  };
  return secrets.map((secret) => isSignedWith(secret, text, library)).includes(true);
}

/**
 * Returns the message id, which is the same for all delivery attempts.
 * @throws InvalidError when the id is too long to store
 */
export function standardWebhookId({ headers }: ReceivedEvent): string {
  return parseBody(z.string().min(1).max(255), signedHeaders(headers)?.id);
}

/** Returns when this attempt was signed, in milliseconds. Only for a verified delivery. */
export function standardWebhookSentAtMs({ headers }: ReceivedEvent): number {
  return Number(signedHeaders(headers)?.timestamp) * 1_000;
}

function signedHeaders(headers: IncomingHttpHeaders): SignedHeaders | undefined {
  for (const prefix of prefixes) {
    const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) => headers[`${prefix}-${name}`]);
    if (typeof id === 'string' && typeof timestamp === 'string' && typeof signature === 'string') {
      return { id, timestamp, signature };
    }
  }
  return undefined;
}

function decode(body: Buffer): string | undefined {
  try {
    return utf8.decode(body);
  } catch {
    return undefined;
  }
}

function isSignedWith(secret: string, text: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(text, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}
