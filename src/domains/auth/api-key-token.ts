import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `pl_<id>_<secret>_<checksum>`: 8 to 12, 43 and 6 characters after the prefix. Only [A-Za-z0-9_-],
 * so that OTEL_EXPORTER_OTLP_HEADERS needs no escaping.
 */
const shape = /^pl_([0-9A-Za-z]{8,12})_([A-Za-z0-9_-]{43})_([0-9A-Za-z]{6})$/;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface MintedKey {
  /** The complete key. It is shown once and never stored. */
  key: string;
  lookupId: string;
  digest: Buffer;
  last4: string;
}

/** Creates a random key with 256 bits of secret, and the data that may be stored about it. */
export function mintApiKey(pepper: string): MintedKey {
  const lookupId = Array.from(randomBytes(12), (byte) => alphabet.charAt(byte % 62)).join('');
  const body = `pl_${lookupId}_${randomBytes(32).toString('base64url')}`;
  return describeApiKey(`${body}_${checksum(body)}`, pepper);
}

/**
 * Returns the data that may be stored about a key.
 * @throws Error when the shape or the checksum is wrong
 */
export function describeApiKey(key: string, pepper: string): MintedKey {
  const lookupId = lookupIdOf(key);
  if (lookupId === undefined)
    throw new Error('The text is not an API key of Promptlane: its format or its checksum is wrong.');
  return { key, lookupId, digest: digestApiKey(key, pepper), last4: key.slice(-4) };
}

/**
 * Returns the public id of a well-formed key. Returns undefined for a wrong checksum, so such a key
 * needs no look-up.
 */
export function lookupIdOf(key: string): string | undefined {
  const match = shape.exec(key);
  if (match === null) return undefined;
  return match[3] === checksum(key.slice(0, -7)) ? match[1] : undefined;
}

/** Returns whether `digest` belongs to `key`. Runs in constant time. */
export function matchesDigest(key: string, pepper: string, digest: Buffer): boolean {
  return timingSafeEqual(digestApiKey(key, pepper), digest);
}

function digestApiKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

/**
 * Returns the CRC-32 in base 62, six characters. With it secret scanners can distinguish keys from
 * random text, as with GitHub's tokens.
 */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
