import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Delivery } from '../identity-provider.ts';

const toleranceMs = 5 * 60_000;

/**
 * Verifies `WorkOS-Signature: t=<ms>, v1=<hex>`: HMAC-SHA256 over `<t>.<body>`, keyed with the
 * bytes of the secret (workos.com/docs/events/data-syncing/webhooks). The official SDKs accept
 * times in the future, this function does not.
 */
export function verifyWorkosSignature({ headers, body }: Delivery, secrets: readonly string[]): boolean {
  const signed = signedHeader(headers);
  if (signed === undefined || Math.abs(Date.now() - Number(signed.timestamp)) > toleranceMs) return false;
  return secrets
    .map((secret) => {
      const expected = createHmac('sha256', secret).update(`${signed.timestamp}.`).update(body).digest();
      return timingSafeEqual(expected, signed.digest);
    })
    .includes(true);
}

/** Returns when this attempt was signed, in milliseconds. Only for a verified delivery. */
export function workosSentAtMs(headers: IncomingHttpHeaders): number {
  return Number(signedHeader(headers)?.timestamp);
}

function signedHeader(headers: IncomingHttpHeaders): { timestamp: string; digest: Buffer } | undefined {
  const header = headers['workos-signature'];
  const match = typeof header === 'string' ? /^t=(\d{13}), ?v1=([0-9a-f]{64})$/.exec(header) : null;
  const [, timestamp, hex] = match ?? [];
  return timestamp === undefined || hex === undefined ? undefined : { timestamp, digest: Buffer.from(hex, 'hex') };
}
