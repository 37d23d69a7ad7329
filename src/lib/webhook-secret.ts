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
