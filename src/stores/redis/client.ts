import { once } from 'node:events';
import { Redis } from 'ioredis';
import { within } from '../../lib/within.ts';

/**
 * Reconnects after 50, 100, 200 … 1000 ms, without end. BullMQ's default grows to 20 s, which would
 * delay recovery.
 */
const retryStrategy = (times: number): number => Math.min(50 * 2 ** (times - 1), 1_000);

/**
 * Connects for requests. Every command is answered or fails within a second, whether Redis refuses,
 * hangs or is loading. A command that timed out may still have run, so commands must be idempotent.
 */
export function connectRequestRedis(redisUrl: string): Redis {
  keepStringMethodsFast();
  return new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 1_000,
    connectTimeout: 500,
    retryStrategy,
  });
}

/**
 * Connects for workers. Commands wait through an outage, and blocking reads do not time out. BullMQ
 * requires `maxRetriesPerRequest: null`.
 */
export function connectWorkerRedis(redisUrl: string): Redis {
  keepStringMethodsFast();
  return new Redis(redisUrl, { maxRetriesPerRequest: null, connectTimeout: 2_000, retryStrategy });
}
/**
 * Waits at most a second until a new connection is ready, because a fail-fast client refuses
 * commands before that. Never throws: if Redis is unavailable, the commands report it.
 */
export async function firstConnection(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await within(1_000, (signal) => once(redis, 'ready', { signal })).catch(() => undefined);
}

export type { Redis } from 'ioredis';

const lookups = 100;

/**
 * Keeps string methods fast. A class of ioredis 6 extends String; after that V8 (Node 20) looks up
 * string methods at every call. Loops over characters become eight times slower, and a span twice
 * as expensive, until methods were looked up often enough through a prototype.
 */
function keepStringMethodsFast(): void {
  const text: { charCodeAt?: unknown } = Object.create(String.prototype);
  for (let i = 0; i < lookups; i++) lookUp(text);
}

function lookUp(text: { charCodeAt?: unknown }): unknown {
  return text.charCodeAt;
}

/**
 * Returns a function that looks up a field in the text of INFO; undefined when the field is
 * missing.
 */
export function infoFields(info: string): (name: string) => string | undefined {
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
