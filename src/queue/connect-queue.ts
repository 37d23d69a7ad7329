import { Queue, type QueueOptions } from 'bullmq';
import type { Redis } from '../stores/redis/client.ts';
import { queuePrefix } from '../stores/redis/names.ts';

/**
 * Creates a queue on a connection whose own listener logs errors. The listener here keeps BullMQ
 * from printing each error again.
 */
export function connectQueue(name: string, connection: Redis, options: Partial<QueueOptions> = {}): Queue {
  const queue = new Queue(name, { connection, prefix: queuePrefix(name), ...options });
  queue.on('error', () => undefined);
  return queue;
}

/** Like {@link connectQueue}, for requests: `redis` must fail fast (see connectRequestRedis). */
export function connectRequestQueue(name: string, redis: Redis): Queue {
  return connectQueue(name, redis, { skipWaitingForReady: true, skipVersionCheck: true });
}
