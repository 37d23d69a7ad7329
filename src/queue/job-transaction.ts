import { type IRedisTransaction, type Queue, RedisQueueBackend } from 'bullmq';
import { within } from '../lib/within.ts';

const answerTimeoutMs = 1_000;

/** Begins a MULTI that can add a job together with other commands. */
export async function beginTransaction(queue: Queue): Promise<IRedisTransaction> {
  return (await clientOf(queue)).multi();
}

/**
 * Executes the transaction and returns the answers of its first and last command. After SCRIPT
 * FLUSH or a server change Redis does not know the scripts, but ioredis would still send their
 * digests, because it does not see this error. So the connection is opened again.
 * @throws the first error of any command, and Error when the transaction was discarded or not
 * answered within a second
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
