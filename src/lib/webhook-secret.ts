import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * A shorter key could be guessed. Standard Webhooks requires 24 to 64 bytes (its specification,
 * "Signature scheme").
 */
export const webhookKeyBytesMin = 24;

const prefix = 'whsec_';

/**
 * Decodes a Standard Webhooks secret, which is base64 with or without the prefix `whsec_`. Returns
 * undefined when it is not base64.
 */
export function standardWebhookKey(secret: string): Uint8Array | undefined {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  // The library does not decode base64 without padding. A refusal here happens at the start and not
  // at the first event.
  if (encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return undefined;
  return Buffer.from(encoded, 'base64');
}

const secretKeyBytes = 32;

/** Returns a new random secret in the form of Standard Webhooks. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(secretKeyBytes).toString('base64');
}

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Derives the key that seals the secrets of outbound webhooks (HKDF, RFC 5869). Another pepper makes
 * sealed secrets unreadable.
 */
export function sealingKeyOf(apiKeyPepper: string): Buffer {
  return Buffer.from(hkdfSync('sha256', apiKeyPepper, '', 'promptlane webhook secrets v1', 32));
}

/**
 * Encrypts a secret with AES-256-GCM and a random nonce. `context` names the place where it is stored, so
 * that it cannot be moved to another.
 */
export function sealSecret(key: Buffer, context: string, secret: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([sealing.update(secret, 'utf8'), sealing.final()]);
  return Buffer.concat([nonce, sealed, sealing.getAuthTag()]);
}

/** Decrypts a sealed secret. Returns undefined for another key or context, or changed bytes. */
export function openSecret(key: Buffer, context: string, sealed: Buffer): string | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(-tagBytes));
  try {
    return opening.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + opening.final('utf8');
  } catch {
    return undefined;
  }
}
