import { once } from 'node:events';
import { Redis } from 'ioredis';
import { within } from '../../lib/within.ts';

/** Reconnects after 50, 100, 200 … 1000 ms, for ever. BullMQ's default reaches 20 s, which is how long recovery would take. */
const retryStrategy = (times: number): number => Math.min(50 * 2 ** (times - 1), 1_000);

/**
 * For requests: every command is answered or fails within a second, whether Redis refuses, hangs or is loading. A command
 * that timed out may still have run, so what is sent over it must be idempotent.
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

/** For workers: waits through an outage; blocking reads must not time out. BullMQ demands `maxRetriesPerRequest: null`. */
export function connectWorkerRedis(redisUrl: string): Redis {
  keepStringMethodsFast();
  return new Redis(redisUrl, { maxRetriesPerRequest: null, connectTimeout: 2_000, retryStrategy });
}
/**
 * Waits for a new connection to be ready, at most a second: a client that fails fast refuses commands before. Never throws, for a
 * Redis that is away is found out by the commands themselves.
 */
export async function firstConnection(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await within(1_000, (signal) => once(redis, 'ready', { signal })).catch(() => undefined);
}

export type { Redis } from 'ioredis';

const lookups = 100;

/**
 * A class of ioredis 6 extends String. From then on V8 (Node 20) looks string methods up anew at every call, which makes loops
 * over characters eight times slower and a span twice as dear, until methods were looked up often enough through a prototype.
 */
function keepStringMethodsFast(): void {
  const text: { charCodeAt?: unknown } = Object.create(String.prototype);
  for (let i = 0; i < lookups; i++) lookUp(text);
}

function lookUp(text: { charCodeAt?: unknown }): unknown {
  return text.charCodeAt;
}
