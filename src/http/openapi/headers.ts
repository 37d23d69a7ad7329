import type { Contract } from '../endpoint.ts';
import { isIdempotent } from '../idempotency.ts';
import type { JsonObject } from './json-object.ts';

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0 };

/** Response headers of the document, by name. */
export const headerComponents: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': {
    description:
      'The id of this request. It is the id that the client sent, if that has 1 to 128 of the characters A-Z a-z 0-9 . _ -; otherwise a new id',
    schema: text,
  },
  RateLimit: {
    description:
      '`r` is the rest of the tightest limit. `t` is the number of seconds until the whole limit is available',
    schema: text,
  },
  'RateLimit-Policy': { description: 'The limits that apply, and their windows in seconds', schema: text },
  'X-RateLimit-Limit': { description: 'The limit in its unit: requests, bytes or spans', schema: whole },
  'X-RateLimit-Remaining': { description: 'The remaining part of the limit in its unit', schema: whole },
  'X-RateLimit-Reset': {
    description: 'Time at which the whole limit is available again, in seconds since the epoch',
    schema: whole,
  },
  'Retry-After': {
    description: 'Whole seconds after which the client may send the request again',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'A supported authentication scheme: Bearer', schema: text },
  ETag: { description: 'The strong entity tag of the response', schema: text },
  'Cache-Control': { description: 'Whether caches may store the response, and for how long', schema: text },
  'Preference-Applied': {
    description: 'The preference of the request that was applied, for example `wait=5`',
    schema: text,
  },
  'Idempotency-Replayed': {
    description: '`true` if this is the response of an earlier request with the same key; otherwise absent',
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
  if (contract.conditional && status < 400 && status !== 204) names.push('ETag');
  if (contract.conditional === true && contract.method === 'GET' && status < 400) names.push('Cache-Control');
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
        'Makes the request safe to repeat. For 24 h, the same request with the same key gets the response of the first ' +
        'request and has no second effect.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]{1,255}$' },
      example: '7f1c2a52-5d0e-4f8e-9a61-3f7d1c0b9e44',
    });
  }
  const isRead = contract.method === 'GET';
  if (contract.conditional === true || (contract.conditional && !isRead)) {
    headers.push({
      name: isRead ? 'If-None-Match' : 'If-Match',
      in: 'header',
      required: false,
      description: isRead
        ? 'Entity tags that the client has. If one of them is current, the response is 304 without content.'
        : 'The entity tag that the change applies to. If it is not current, the response is 412 and nothing changes.',
      schema: text,
      example: '"v7"',
    });
  }
  if (contract.preferredWaitSMax !== undefined) {
    headers.push({
      name: 'Prefer',
      in: 'header',
      required: false,
      description: `\`wait=N\` (RFC 7240): the number of seconds that the client waits for the effect, at most ${contract.preferredWaitSMax}.`,
      schema: text,
      example: 'wait=5',
    });
  }
  return headers;
}
