import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { TimeoutError } from '../lib/within.ts';
import { infoFields } from './redis-info.ts';

/** Redis writes after two seconds even while an fsync goes on; who sends waits for that rather than for a 503 and a repetition. */
export const barrierMsMax = 2_500;
const lookAgainMs = 5;

interface Waiter {
  /** What the append-only file must reach, in bytes; known after the first look. */
  target: { bytes: number; baseBytes: string } | undefined;
  deadlineMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Tells when the kernel has what Redis has answered. With `appendfsync everysec` Redis puts off its write(2) while an fsync is under
 * way, up to two seconds, and answers meanwhile; killed then, it forgets. It writes before it sends replies (beforeSleep in its
 * server.c), so an INFO that finds no fsync under way, or nothing in the buffer, says that everything executed before is written. Under
 * steady writes that may never be seen; then the file's size must have grown by what was in the buffer.
 *
 * One INFO at most is under way per process and all who wait share it; who comes meanwhile shares the next.
 */
export class DurabilityBarrier {
  readonly #redis: Redis;
  #waiters: Waiter[] = [];
  #looking = false;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Resolves when all that Redis has answered on this connection so far is written. Throws TimeoutError when it is not within
   * `timeoutMs`, Error when Redis keeps no append-only file or cannot write it, and what Redis throws.
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
        const left = passed(await this.#redis.info('persistence'), waiters);
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
 * Whether what a MULTI did is written by the time its answer is here, where INFO was its last command: nothing then puts off the write
 * that Redis does before it sends the answer. What the buffer held says nothing here, since Redis fills it after the MULTI. Throws Error
 * as {@link DurabilityBarrier.pass}.
 */
export function isWrittenWithAnswer(info: string): boolean {
  return trustedFields(info)('aof_pending_bio_fsync') === '0';
}

/** Throws Error when the file is not to be trusted. */
function trustedFields(info: string): ReturnType<typeof infoFields> {
  const field = infoFields(info);
  if (field('aof_enabled') !== '1') throw new Error('Redis runs without its append-only file');
  if (field('aof_last_write_status') !== 'ok') throw new Error('Redis cannot write its append-only file');
  return field;
}

/** Lets those pass whose writes are in the file; resolves to the others. Throws when the file is not to be trusted. */
function passed(info: string, waiters: readonly Waiter[]): Waiter[] {
  const field = trustedFields(info);
  const isWritten = field('aof_pending_bio_fsync') === '0' || field('aof_buffer_length') === '0';
  const bytes = Number(field('aof_current_size'));
  const baseBytes = field('aof_base_size') ?? '';
  return waiters.filter((waiter) => {
    // A rewrite of the file changes its size: then it is measured anew.
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
