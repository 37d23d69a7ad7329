/** A shorter key could be guessed; Standard Webhooks asks for 24 to 64 bytes (its specification, "Signature scheme"). */
export const webhookKeyBytesMin = 24;

const prefix = 'whsec_';

/** The key of a Standard Webhooks secret, which is base64 with or without `whsec_` in front; undefined when it is not base64. */
export function standardWebhookKey(secret: string): Uint8Array | undefined {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  // The library refuses to decode what is not padded, so this refuses it at the start and not at the first event.
  if (encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return undefined;
  return Buffer.from(encoded, 'base64');
}
