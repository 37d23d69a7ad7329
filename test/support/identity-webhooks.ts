import { createHmac, randomUUID } from 'node:crypto';
import type { Answer, TestApi } from './api.ts';

/** 24 bytes each, the minimum. */
export const secrets = {
  clerk: `whsec_${Buffer.from('the first clerk secret..').toString('base64')}`,
  clerkNext: `whsec_${Buffer.from('the other clerk secret..').toString('base64')}`,
  workos: 'the workos secret of tests',
  generic: Buffer.from('a generic secret, bare..').toString('base64'),
} as const;

export const identityWebhookSecrets = {
  clerk: [secrets.clerk, secrets.clerkNext],
  workos: [secrets.workos],
  generic: [secrets.generic],
};

export interface Signing {
  id?: string;
  secret?: string;
  atMs?: number;
}

/** Returns headers of Standard Webhooks, computed without the library: HMAC-SHA256 of `<id>.<seconds>.<body>`. */
export function standardHeaders(
  body: string | Uint8Array,
  prefix: 'svix' | 'webhook',
  {
    id = `msg_${randomUUID()}`,
    secret = prefix === 'svix' ? secrets.clerk : secrets.generic,
    atMs = Date.now(),
  }: Signing = {},
): Record<string, string> {
  const seconds = Math.floor(atMs / 1_000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64');
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(seconds),
    [`${prefix}-signature`]: `v1,${digest}`,
  };
}

export function workosHeaders(
  body: string | Uint8Array,
  { secret = secrets.workos, atMs = Date.now() }: Signing = {},
): Record<string, string> {
  const digest = createHmac('sha256', secret).update(`${atMs}.`).update(body).digest('hex');
  return { 'workos-signature': `t=${atMs}, v1=${digest}` };
}

/** Posts bytes unchanged. */
export async function postWebhook(
  url: string,
  provider: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Answer<Record<string, unknown>>> {
  const response = await fetch(`${url}/api/webhooks/${provider}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) };
}

/** Signs and posts an event of Clerk. */
export function postClerk(api: Pick<TestApi, 'url'>, event: object, signing: Signing = {}) {
  const body = JSON.stringify({ object: 'event', ...event });
  return postWebhook(api.url, 'clerk', body, standardHeaders(body, 'svix', signing));
}
