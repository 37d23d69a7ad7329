import { Job, type Queue } from 'bullmq';
import { UnavailableError } from '../lib/errors.ts';
import type { Redis } from '../stores/redis/client.ts';
import { connectRequestQueue } from './connect-queue.ts';
import { barrierMsMax, DurabilityBarrier } from './durability-barrier.ts';
import { applyIdentityEventPayload, type IdentityEvent } from './identity-event.ts';
import { jobCatalog, retryOptions } from './job-catalog.ts';
import { beginTransaction, execTransaction } from './job-transaction.ts';

/** An event that could not be applied. It waits for an operator or for a resend by the provider. */
export interface FailedIdentityEvent {
  jobId: string;
  event: IdentityEvent;
  reason: string;
  attempts: number;
  failedAtMs: number;
}

export interface IdentityEventPublisher {
  /**
   * Resolves after Redis has passed the event to the kernel. `duplicate` means that a job with this
   * id already existed. A failed job is not a duplicate: it is retried.
   * @throws UnavailableError within about a second when the event cannot be made durable
   */
  publish(jobId: string, event: IdentityEvent): Promise<{ duplicate: boolean }>;
  /**
   * Lists the failed events, latest first, at most {@link failedMax}.
   * @throws UnavailableError
   */
  listFailed(): Promise<FailedIdentityEvent[]>;
  /**
   * Retries a failed event. Returns false when no failed event has this id.
   * @throws UnavailableError
   */
  retryFailed(jobId: string): Promise<boolean>;
  queue: Queue;
  close(): Promise<void>;
}

const failedMax = 1_000;

/**
 * Creates a publisher. `redis` must fail fast (see connectRequestRedis), because a request waits
 * for every command.
 */
export function createIdentityEventPublisher(
  redis: Redis,
  barrier = new DurabilityBarrier(redis),
): IdentityEventPublisher {
  const { queue: name, attempts, removeOnComplete } = jobCatalog.applyIdentityEvent;
  const queue = connectRequestQueue(name, redis);
  const options = { attempts, ...retryOptions, removeOnComplete, removeOnFail: false };

  return {
    queue,
    async publish(jobId, event) {
      try {
        const transaction = await beginTransaction(queue);
        transaction.runCommand('exists', [queue.toKey(jobId)]);
        await new Job(queue, 'applyIdentityEvent', event, { ...options, jobId }, jobId).addJob(transaction, {});
        const known = (await execTransaction(queue, transaction)).first === 1;
        const duplicate = known && !(await retryFailed(queue, jobId));
        await barrier.pass(barrierMsMax);
        return { duplicate };
      } catch (error) {
        throw unavailable('The event could not be queued. Send it again.', error);
      }
    },
    async listFailed() {
      try {
        const jobs = await queue.getFailed(0, failedMax - 1);
        return jobs.flatMap(asFailed).sort((a, b) => b.failedAtMs - a.failedAtMs || (a.jobId < b.jobId ? -1 : 1));
      } catch (error) {
        throw unavailable('The queue of identity events cannot be read at the moment.', error);
      }
    },
    async retryFailed(jobId) {
      try {
        return await retryFailed(queue, jobId);
      } catch (error) {
        throw unavailable('The event could not be queued.', error);
      }
    },
    close: () => queue.close(),
  };
}

async function retryFailed(queue: Queue, jobId: string): Promise<boolean> {
  const job: Job | undefined = await queue.getJob(jobId);
  if (job === undefined || !(await job.isFailed())) return false;
  await job.retry('failed', { resetAttemptsMade: true });
  return true;
}

/** Returns an empty list for a job that another version of the service wrote. */
function asFailed({ id, data, failedReason, attemptsMade, finishedOn }: Job): FailedIdentityEvent[] {
  const event = applyIdentityEventPayload.safeParse(data);
  if (id === undefined || !event.success) return [];
  return [{ jobId: id, event: event.data, reason: failedReason, attempts: attemptsMade, failedAtMs: finishedOn ?? 0 }];
}

function unavailable(message: string, cause: unknown): UnavailableError {
  return new UnavailableError('queue_unavailable', message, { retryAfterS: 1, cause });
}
