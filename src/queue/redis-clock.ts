import type { Redis } from '../stores/redis/client.ts';

/** A TIME call that took longer is too inexact to use. */
const roundTripMsMax = 100;

/**
 * The time of Redis, so that hosts with different clocks agree on the order of events. Between
 * calls to {@link look} it advances by the monotonic clock. Before the first call it is the time of
 * the host.
 */
export class RedisClock {
  #redisMs = Date.now();
  #atMs = performance.now();

  /** Returns the time in milliseconds since the epoch. */
  nowMs(): number {
    return Math.round(this.#exactMs());
  }

  /**
   * Returns by how many milliseconds the host clock is ahead of Redis; negative when it is behind.
   */
  hostAheadMs(): number {
    return Date.now() - this.nowMs();
  }

  /**
   * Asks Redis for the time. A difference smaller than the error of the measurement changes
   * nothing.
   * @throws the error of Redis
   */
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
