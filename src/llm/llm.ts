import OpenAI from 'openai';
import type { LlmConfig } from '../config.ts';
import type { Redis } from '../stores/redis/client.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { createPlaces, type Places } from './endpoint-places.ts';
import { defaultLlmLimits, type LlmLimits } from './limits.ts';

/** An endpoint with OpenAI's API, and the limits of its callers. */
export interface Llm {
  client: OpenAI;
  places: Places;
  limits: LlmLimits;
  /** Returns a text without the key of the endpoint, in case the endpoint repeats it. */
  withoutKey(text: string): string;
}

/**
 * Creates the client of the configured endpoint, once per process. While `redis` is unavailable, calls
 * wait; if it fails fast (see connectRequestRedis), they can also be aborted. Returns undefined if no
 * endpoint is configured.
 */
export function createLlm({
  config: { baseUrl, apiKey },
  redis,
  limits = defaultLlmLimits,
}: {
  config: LlmConfig;
  redis: Redis;
  limits?: LlmLimits;
}): Llm | undefined {
  if (baseUrl === undefined) return undefined;
  const client = new OpenAI({
    baseURL: baseUrl,
    // The client insists on a key. Without one, no header is sent.
    apiKey: apiKey ?? 'none',
    ...(apiKey === undefined && { defaultHeaders: { Authorization: null } }),
    organization: null,
    project: null,
    // Retries are those of sendChat alone, so that each request is counted.
    maxRetries: 0,
    timeout: limits.timeoutMs,
    fetch: boundedFetch(limits.replyBytesMax),
    // At the level `debug` the client logs whole requests.
    logLevel: 'off',
  });
  return {
    client,
    places: createPlaces(redis, { endpoint: baseUrl, limits }),
    limits,
    withoutKey: (text) => (apiKey === undefined ? text : text.replaceAll(apiKey, '***')),
  };
}
