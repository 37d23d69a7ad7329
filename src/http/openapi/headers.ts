import type { Contract } from '../endpoint.ts';
import { isIdempotent } from '../idempotency.ts';
import type { JsonObject } from './json-object.ts';

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0 };

/** Response headers of the document, by name. */
export const headerComponents: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': {
    description: 'The id of this request: the one sent, when it is up to 128 of A-Z a-z 0-9 . _ -, else a new one',
    schema: text,
  },
  RateLimit: { description: 'What is left of the limit, and the seconds until more is', schema: text },
  'RateLimit-Policy': { description: 'The limits that apply, and their windows in seconds', schema: text },
  'X-RateLimit-Limit': { description: 'Requests allowed in the window', schema: whole },
  'X-RateLimit-Remaining': { description: 'Requests left in the window', schema: whole },
  'X-RateLimit-Reset': { description: 'Seconds until the window has room again', schema: whole },
  'Retry-After': {
    description: 'Whole seconds after which trying again makes sense',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'That a bearer token is one way to authenticate', schema: text },
  ETag: { description: 'The strong entity tag of what is answered', schema: text },
  'Cache-Control': { description: 'Whether it may be kept, and for how long', schema: text },
  'Preference-Applied': { description: 'The preference of the request that was granted, as `wait=5`', schema: text },
  'Idempotency-Replayed': {
    description: '`true` when this is the answer of an earlier request with the same key; absent otherwise',
    schema: { type: 'string', const: 'true' },
  },
};

const always = [
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Returns the headers that a response with this status carries. */
export function responseHeaders(contract: Contract, status: number): JsonObject {
  const names = [...always];
  if (status === 401) names.push('WWW-Authenticate');
  if (status === 429 || status === 503) names.push('Retry-After');
  if (contract.conditional && status < 400) names.push('ETag');
  if (contract.conditional && contract.method === 'GET' && status < 400) names.push('Cache-Control');
  if (contract.preferredWaitSMax !== undefined && status < 300) names.push('Preference-Applied');
  if (isIdempotent(contract) && status < 300) names.push('Idempotency-Replayed');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns the request headers that an operation supports, except credentials. */
export function requestHeaders(contract: Contract): JsonObject[] {
  const headers = [];
  if (isIdempotent(contract)) {
    headers.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Makes the request safe to repeat: for 24 h the same key with the same request is answered as the first was, and ' +
        'has no second effect.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]{1,255}$' },
      example: '7f1c2a52-5d0e-4f8e-9a61-3f7d1c0b9e44',
    });
  }
  if (contract.conditional) {
    const isRead = contract.method === 'GET';
    headers.push({
      name: isRead ? 'If-None-Match' : 'If-Match',
      in: 'header',
      required: false,
      description: isRead
        ? 'Entity tags the caller has; when one is current the answer is 304 without content.'
        : 'The entity tag the change is meant for; when it is not current the answer is 412 and nothing changes.',
      schema: text,
      example: '"v7"',
    });
  }
  if (contract.preferredWaitSMax !== undefined) {
    headers.push({
      name: 'Prefer',
      in: 'header',
      required: false,
      description: `\`wait=N\` (RFC 7240): how many seconds the caller waits for the effect, at most ${contract.preferredWaitSMax}.`,
      schema: text,
      example: 'wait=5',
    });
  }
  return headers;
}
