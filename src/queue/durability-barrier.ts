import { setTimeout as sleep } from 'node:timers/promises';
import { TimeoutError } from '../lib/within.ts';
import type { Redis } from '../stores/redis/client.ts';
import { infoFields, readInfo } from '../stores/redis/info.ts';

/**
 * Redis delays a write by at most 2 s while an fsync runs. The sender waits for this, which is
 * better than a 503 and a resend.
 */
export const barrierMsMax = 2_500;
const lookAgainMs = 5;

interface Waiter {
  /** The size in bytes that the append-only file must reach. Set after the first INFO. */
  target: { bytes: number; baseBytes: string } | undefined;
  deadlineMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Reports when the kernel has the writes that Redis has answered. With `appendfsync everysec` Redis
 * delays its write(2) for up to 2 s while an fsync runs, but it answers meanwhile. If Redis is
 * killed then, these writes are lost.
 * Redis writes before it sends replies (beforeSleep in its server.c). So everything executed before
 * is written if INFO shows no pending fsync or an empty buffer. Under steady writes INFO may never
 * show that; then the file must have grown by the size of the buffer.
 * A process has at most one INFO in progress. All waiters share it; later waiters share the next one.
 */
export class DurabilityBarrier {
  readonly #redis: Redis;
  #waiters: Waiter[] = [];
  #looking = false;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Resolves when everything that Redis has answered on this connection so far is written.
   * @throws TimeoutError when it is not written within `timeoutMs`
   * @throws Error when Redis has no append-only file or cannot write it, and any error of Redis
   */
  pass(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ target: undefined, deadlineMs: performance.now() + timeoutMs, resolve, reject });
      if (!this.#looking) void this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#waiters.length > 0) {
      const waiters = this.#waiters;
      this.#waiters = [];
      try {
        const left = passed(await readInfo(this.#redis, 'persistence'), waiters);
        if (left.length > 0) await sleep(lookAgainMs);
        this.#waiters.unshift(...left);
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    this.#looking = false;
  }
}

/**
 * Returns whether the writes of a MULTI were written before its answer arrived. INFO must be its
 * last command. If no fsync is pending, Redis writes before it sends the answer. The buffer length
 * says nothing here, because Redis fills the buffer after the MULTI.
 * @throws Error as {@link DurabilityBarrier.pass} does
 */
export function isWrittenWithAnswer(info: string): boolean {
  return trustedFields(info)('aof_pending_bio_fsync') === '0';
}

/**
 * Reads the INFO fields.
 * @throws Error when the append-only file is disabled or its last write failed
 */
function trustedFields(info: string): ReturnType<typeof infoFields> {
  const field = infoFields(info);
  if (field('aof_enabled') !== '1') throw new Error('Redis runs without its append-only file');
  if (field('aof_last_write_status') !== 'ok') throw new Error('Redis cannot write its append-only file');
  return field;
}

/**
 * Resolves the waiters whose writes are in the file and returns the others.
 * @throws Error when the append-only file is disabled or its last write failed
 */
function passed(info: string, waiters: readonly Waiter[]): Waiter[] {
  const field = trustedFields(info);
  const isWritten = field('aof_pending_bio_fsync') === '0' || field('aof_buffer_length') === '0';
  const bytes = Number(field('aof_current_size'));
  const baseBytes = field('aof_base_size') ?? '';
  return waiters.filter((waiter) => {
    // A rewrite of the file changes its size, so a new target is needed.
    if (waiter.target?.baseBytes !== baseBytes) {
      waiter.target = { bytes: bytes + Number(field('aof_buffer_length')), baseBytes };
      if (!isWritten) return stillWaits(waiter);
    }
    if (!isWritten && bytes < waiter.target.bytes) return stillWaits(waiter);
    waiter.resolve();
    return false;
  });
}

function stillWaits(waiter: Waiter): boolean {
  if (performance.now() < waiter.deadlineMs) return true;
  waiter.reject(new TimeoutError('Redis has not written its append-only file in time'));
  return false;
}
