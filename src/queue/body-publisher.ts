import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { UnavailableError } from '../lib/errors.ts';
import { bodyKey } from './body-key.ts';
import { type IngestBodyPayload, type IngestOutcome, ingestOutcome, jobCatalog } from './job-catalog.ts';
import { beginTransaction, execTransaction } from './job-transaction.ts';

/**
 * Keeps the body only when its job is not known yet, so that a resend of a finished body leaves nothing behind. In the same breath
 * its spans are metered: a new body adds ARGV[2], a duplicate ARGV[3], which gives back what was taken for it before.
 */
const storeBodyLua = `
local duplicate = redis.call('EXISTS', KEYS[1]) == 1
local change = tonumber(duplicate and ARGV[3] or ARGV[2])
if change ~= 0 then
  local total = redis.call('HINCRBY', KEYS[3], 'total', change)
  redis.call('HINCRBY', KEYS[3], ARGV[4], change)
  if total == change then redis.call('EXPIREAT', KEYS[3], ARGV[5]) end
end
if duplicate then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
return 1`;

/** How the spans of a body are counted: in the hash `key`, in its field `total` and in that of their minute, `slot`. */
export interface SpanMeter {
  key: string;
  slot: string;
  /** When the counter may be forgotten, in seconds since the epoch. */
  expiresAtS: number;
  spans: number;
  /** Whether they were counted when the quota was checked: then a duplicate gives them back. */
  taken: boolean;
}

export interface BodyPublisher {
  /**
   * Stores the body and a job that names it in one MULTI, and meters its spans unless the job was known already (`duplicate`) or
   * there is no meter. Resolves once Redis has accepted all. Throws UnavailableError within about a second when it cannot be made
   * durable.
   */
  publish(
    jobId: string,
    body: Buffer,
    payload: IngestBodyPayload,
    meter: SpanMeter | undefined,
  ): Promise<{ duplicate: boolean }>;
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
  const options = {
    attempts: entry.attempts,
    backoff: { type: 'custom' },
    removeOnComplete: entry.removeOnComplete,
    removeOnFail: false,
  };

  return {
    queue,
    async publish(jobId, body, payload, meter) {
      try {
        const transaction = await beginTransaction(queue);
        const key = bodyKey(payload.projectId, jobId);
        // Whole, for by its digest it might be unknown where the job's script is known: then a job would come without its body.
        transaction.runCommand('eval', [
          ...[storeBodyLua, 3, queue.toKey(jobId), key, meter?.key ?? key],
          ...[body, ...meterArgs(meter)],
        ]);
        await new Job(queue, 'ingestBody', payload, { ...options, jobId }, jobId).addJob(transaction, {});
        return { duplicate: (await execTransaction(queue, transaction)) === 0 };
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

function meterArgs(meter: SpanMeter | undefined): (string | number)[] {
  if (meter === undefined) return [0, 0, '', 0];
  const { spans, taken, slot, expiresAtS } = meter;
  return [taken ? 0 : spans, taken ? -spans : 0, slot, expiresAtS];
}
