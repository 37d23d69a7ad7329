import { expect, test } from 'vitest';
import {
  newWebhookSecret,
  openSecret,
  sealingKeyOf,
  sealSecret,
  standardWebhookKey,
} from '../../../src/lib/webhook-secret.ts';

const key = sealingKeyOf('a pepper of at least 24 characters');
const context = 'prj_1|whk_1';

test('a new secret is a Standard Webhooks secret of 32 bytes', () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(standardWebhookKey(secret)).toHaveLength(32);
  expect(newWebhookSecret()).not.toBe(secret);
});

test('a sealed secret opens with the same key and context, and is sealed differently each time', () => {
  const secret = newWebhookSecret();
  const sealed = sealSecret(key, context, secret);
  expect(sealed.includes(secret.slice(6))).toBe(false);
  expect(sealSecret(key, context, secret).equals(sealed)).toBe(false);
  expect(openSecret(key, context, sealed)).toBe(secret);
});

test('a sealed secret does not open with another key or context, nor when a byte changed', () => {
  const sealed = sealSecret(key, context, newWebhookSecret());
  expect(openSecret(sealingKeyOf('another pepper of 24 characters'), context, sealed)).toBeUndefined();
  expect(openSecret(key, 'prj_1|whk_2', sealed)).toBeUndefined();
  for (const at of [0, 12, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(openSecret(key, context, changed)).toBeUndefined();
  }
  expect(openSecret(key, context, sealed.subarray(0, 27))).toBeUndefined();
});
