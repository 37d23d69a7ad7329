import type { Redis } from 'ioredis';

/** A look that took longer says too little about the time. */
const roundTripMsMax = 100;

/**
 * The time as Redis has it, so that processes on hosts whose clocks differ agree on what came first. Runs on by the monotonic clock
 * between looks; before the first one it is that of the host.
 */
export class RedisClock {
  #redisMs = Date.now();
  #atMs = performance.now();

  /** In milliseconds since the epoch. */
  nowMs(): number {
    return Math.round(this.#exactMs());
  }

  /** By how much the host's clock is ahead of that of Redis; negative when behind. */
  hostAheadMs(): number {
    return Date.now() - this.nowMs();
  }

  /** Asks Redis. What does not differ by more than the answer is inexact changes nothing. Throws what Redis throws. */
  async look(redis: Redis): Promise<void> {
    const sentAtMs = performance.now();
    const [seconds, microseconds] = await redis.time();
    const answeredAtMs = performance.now();
    const inexactMs = (answeredAtMs - sentAtMs) / 2;
    if (inexactMs * 2 > roundTripMsMax) return;
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 + inexactMs;
    if (Math.abs(redisMs - this.#exactMs()) <= inexactMs) return;
    this.#redisMs = redisMs;
    this.#atMs = answeredAtMs;
  }

  #exactMs(): number {
    return this.#redisMs + performance.now() - this.#atMs;
  }
}
