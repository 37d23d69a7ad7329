import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { UnavailableError } from '../lib/errors.ts';
import { bodyKey } from './body-key.ts';
import { type IngestBodyPayload, type IngestOutcome, ingestOutcome, jobCatalog } from './job-catalog.ts';
import { beginTransaction, execTransaction } from './job-transaction.ts';

/** Keeps the body only when its job is not known yet, so that a resend of a finished body leaves nothing behind. */
const storeBodyLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
return 1`;

export interface BodyPublisher {
  /**
   * Stores the body and a job that names it in one MULTI. Resolves once Redis has accepted both; `duplicate` says that the
   * same job was known already. Throws UnavailableError within about a second when it cannot be made durable.
   */
  publish(jobId: string, body: Buffer, payload: IngestBodyPayload): Promise<{ duplicate: boolean }>;
  /** Forgets a finished job, so that its id can be published again. */
  forget(jobId: string): Promise<void>;
  /** What became of a body; undefined while its job waits or runs, and when the job is not known. Throws when Redis is away. */
  outcome(jobId: string): Promise<IngestOutcome | undefined>;
  queue: Queue;
  close(): Promise<void>;
}

/** `redis` must fail fast (see connectRequestRedis): a request waits for every command sent here. */
export function createBodyPublisher(redis: Redis): BodyPublisher {
  const entry = jobCatalog.ingestBody;
  const queue = new Queue(entry.queue, { connection: redis, skipWaitingForReady: true, skipVersionCheck: true });
  queue.on('error', () => undefined); // The connection's own listener logs; a second report would say nothing new.
  redis.defineCommand('storeIngestBody', { numberOfKeys: 2, lua: storeBodyLua });
  const options = {
    attempts: entry.attempts,
    backoff: { type: 'custom' },
    removeOnComplete: entry.removeOnComplete,
    removeOnFail: false,
  };

  return {
    queue,
    async publish(jobId, body, payload) {
      try {
        const transaction = await beginTransaction(queue);
        transaction.runCommand('storeIngestBody', [queue.toKey(jobId), bodyKey(payload.projectId, jobId), body]);
        await new Job(queue, 'ingestBody', payload, { ...options, jobId }, jobId).addJob(transaction, {});
        return { duplicate: (await execTransaction(transaction)) === 0 };
      } catch (error) {
        throw new UnavailableError('queue_unavailable', 'The spans could not be queued right now; send them again.', {
          retryAfterS: 1,
          cause: error,
        });
      }
    },
    async forget(jobId) {
      await queue.remove(jobId);
    },
    async outcome(jobId) {
      const job = await queue.getJob(jobId);
      return job?.finishedOn === undefined ? undefined : ingestOutcome.safeParse(job.returnvalue).data;
    },
    close: () => queue.close(),
  };
}
