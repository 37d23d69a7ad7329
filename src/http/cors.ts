import type { Headers } from './contract.ts';

/**
 * Headers of every response of a route that browsers of any origin may call (fetch.spec.whatwg.org).
 * No cookies are involved: `*` excludes credentials that the browser keeps.
 */
export const corsHeaders: Headers = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After, X-Request-Id, Idempotency-Replayed',
};

/** Headers of the response to a preflight request, which the browser caches for a day or less. */
export function preflightHeaders(methods: string): Headers {
  return {
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': 'Content-Type, Authorization, Idempotency-Key',
    'Access-Control-Max-Age': '86400',
  };
}
