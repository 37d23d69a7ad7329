import type { IncomingHttpHeaders } from 'node:http';
import type { SimulatedKind } from './simulated-reply.ts';

/** What goes wrong. Shares are from 0 to 1 and depend on the seed and the number of the request. */
export interface Faults {
  /** Share of requests that get 429. */
  rate429: number;
  /** The `retry-after-ms` of a 429. */
  retryAfterMs: number;
  /** Share of requests that get 500. */
  rate500: number;
  /** Share of requests that get no response until the caller leaves. */
  hang: number;
  /** Every response is without `usage`. */
  noUsage: boolean;
  /** Every request gets 401. */
  unauthorized: boolean;
  /** Every request gets 404, as for an unknown model. */
  unknownModel: boolean;
  /** These models answer with words that nobody can use. */
  garbage: readonly SimulatedKind[];
  /** These models get 500. */
  failing: readonly SimulatedKind[];
  latencyMs: number;
}

/** What goes wrong if nothing is said. */
export const noFaults: Faults = {
  ...{ rate429: 0, retryAfterMs: 20, rate500: 0, hang: 0, noUsage: false, unauthorized: false, unknownModel: false },
  ...{ garbage: [], failing: [], latencyMs: 0 },
};

/** A response with an error. */
interface Fault {
  status: number;
  error: { message: string; type: string; code: string | null };
  headers?: Record<string, string>;
}

const refusals = {
  unauthorized: (): Fault => ({
    status: 401,
    error: { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' },
  }),
  unknownModel: (model: string): Fault => ({
    status: 404,
    error: { message: `The model ${model} does not exist.`, type: 'invalid_request_error', code: 'model_not_found' },
  }),
  rate: (retryAfterMs: number): Fault => ({
    status: 429,
    error: { message: 'Rate limit reached.', type: 'requests', code: 'rate_limit_exceeded' },
    headers: { 'retry-after-ms': String(retryAfterMs), 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) },
  }),
  failure: (): Fault => ({
    status: 500,
    error: { message: 'The server had an error.', type: 'server_error', code: null },
  }),
};

/** Returns what goes wrong with a request, if anything does. `share` decides about faults that are rare. */
export function faultOf(
  faults: Faults,
  request: {
    kind: SimulatedKind | undefined;
    model: string;
    headers: IncomingHttpHeaders;
    share: number;
    apiKey: string | undefined;
  },
): Fault | 'hang' | undefined {
  const { kind, model, headers, share, apiKey } = request;
  const authorization = headers.authorization ?? '';
  const hasKey = apiKey === undefined ? /^Bearer \S+$/.test(authorization) : authorization === `Bearer ${apiKey}`;
  if (faults.unauthorized || !hasKey) return refusals.unauthorized();
  if (faults.unknownModel || kind === undefined) return refusals.unknownModel(model);
  if (faults.failing.includes(kind)) return refusals.failure();
  if (share < faults.rate429) return refusals.rate(faults.retryAfterMs);
  if (share < faults.rate429 + faults.rate500) return refusals.failure();
  return share < faults.rate429 + faults.rate500 + faults.hang ? 'hang' : undefined;
}
