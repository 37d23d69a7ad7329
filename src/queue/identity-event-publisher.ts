import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { UnavailableError } from '../lib/errors.ts';
import type { IdentityEvent } from './identity-event.ts';
import { jobCatalog } from './job-catalog.ts';
import { beginTransaction, execTransaction } from './job-transaction.ts';

export interface IdentityEventPublisher {
  /**
   * Resolves once Redis has accepted the event; `duplicate` says that a job of that id was there already. Throws UnavailableError
   * within about a second when it cannot be made durable.
   */
  publish(jobId: string, event: IdentityEvent): Promise<{ duplicate: boolean }>;
  queue: Queue;
  close(): Promise<void>;
}

/** `redis` must fail fast (see connectRequestRedis): a request waits for every command sent here. */
export function createIdentityEventPublisher(redis: Redis): IdentityEventPublisher {
  const { queue: name, attempts, removeOnComplete } = jobCatalog.applyIdentityEvent;
  const queue = new Queue(name, { connection: redis, skipWaitingForReady: true, skipVersionCheck: true });
  queue.on('error', () => undefined); // The connection's own listener logs.
  const options = { attempts, backoff: { type: 'custom' }, removeOnComplete, removeOnFail: false };

  return {
    queue,
    async publish(jobId, event) {
      try {
        const transaction = await beginTransaction(queue);
        transaction.runCommand('exists', [queue.toKey(jobId)]);
        await new Job(queue, 'applyIdentityEvent', event, { ...options, jobId }, jobId).addJob(transaction, {});
        return { duplicate: (await execTransaction(transaction)) === 1 };
      } catch (error) {
        throw new UnavailableError('queue_unavailable', 'The event could not be queued right now; send it again.', {
          retryAfterS: 1,
          cause: error,
        });
      }
    },
    close: () => queue.close(),
  };
}
