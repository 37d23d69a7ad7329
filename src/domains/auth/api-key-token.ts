import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** `pl_<id>_<secret>_<checksum>`: 12, 43 and 6 characters after the prefix. Only [A-Za-z0-9_-], so that OTEL_EXPORTER_OTLP_HEADERS needs no escaping. */
const shape = /^pl_([0-9A-Za-z]{8,12})_([A-Za-z0-9_-]{43})_([0-9A-Za-z]{6})$/;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface MintedKey {
  /** The whole key; shown once, never stored. */
  key: string;
  lookupId: string;
  digest: Buffer;
  last4: string;
}

/** A new random key with 256 bits of secret, and what of it may be stored. */
export function mintApiKey(pepper: string): MintedKey {
  const lookupId = Array.from(randomBytes(12), (byte) => alphabet.charAt(byte % 62)).join('');
  const body = `pl_${lookupId}_${randomBytes(32).toString('base64url')}`;
  return describeApiKey(`${body}_${checksum(body)}`, pepper);
}

/** What may be stored of a key. Throws an Error when it is not one of ours. */
export function describeApiKey(key: string, pepper: string): MintedKey {
  const lookupId = lookupIdOf(key);
  if (lookupId === undefined) throw new Error('Not an API key of Promptlane: wrong shape or checksum.');
  return { key, lookupId, digest: digestApiKey(key, pepper), last4: key.slice(-4) };
}

/** The public id inside a well-formed key, or undefined: a wrong checksum is refused here, without any look-up. */
export function lookupIdOf(key: string): string | undefined {
  const match = shape.exec(key);
  if (match === null) return undefined;
  return match[3] === checksum(key.slice(0, -7)) ? match[1] : undefined;
}

/** Whether `key` is the one that `digest` was stored for; in constant time. */
export function matchesDigest(key: string, pepper: string, digest: Buffer): boolean {
  return timingSafeEqual(digestApiKey(key, pepper), digest);
}

function digestApiKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

/** CRC-32 in base 62, six characters, so that secret scanners can tell a key from noise (as GitHub's tokens do). */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
