import { Queue } from 'bullmq';
import type { Redis } from '../src/stores/redis/client.ts';

/**
 * Creates a queue on a connection whose own listener logs errors. The listener here keeps BullMQ
 * from printing each error again.
 */
export function connectQueue(name: string, connection: Redis): Queue {
  const queue = new Queue(name, { connection });
  queue.on('error', () => undefined);
  return queue;
}
