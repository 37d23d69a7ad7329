import { type IRedisTransaction, type Queue, RedisQueueBackend } from 'bullmq';
import { within } from '../lib/within.ts';

const answerTimeoutMs = 1_000;

/** Begins a MULTI in which a job can be added together with something else. */
export async function beginTransaction(queue: Queue): Promise<IRedisTransaction> {
  return (await clientOf(queue)).multi();
}

/**
 * Executes it and answers what its first command answered, and its last. Throws the first error of any command, when the transaction was
 * discarded, and when there is no answer within a second. Where Redis has forgotten its scripts (SCRIPT FLUSH, another server behind the
 * same address), ioredis would go on naming them by their digests, since it never sees that error: so it begins the connection anew.
 */
export async function execTransaction(
  queue: Queue,
  transaction: IRedisTransaction,
): Promise<{ first: unknown; last: unknown }> {
  const results = await within(answerTimeoutMs, () => transaction.exec());
  if (results === null) throw new Error('Redis discarded the transaction');
  for (const [error, value] of results) {
    if (error?.message.startsWith('NOSCRIPT')) (await clientOf(queue)).disconnect(true);
    if (error !== null) throw error;
    if (typeof value === 'number' && value < 0) throw new Error(`Adding the job failed with ${value}`);
  }
  return { first: results[0]?.[1], last: results.at(-1)?.[1] };
}

function clientOf(queue: Queue) {
  const backend = queue.getBackend();
  if (!(backend instanceof RedisQueueBackend)) throw new Error(`The queue ${queue.name} is not on Redis`);
  return backend.client;
}
