import type { Queue } from 'bullmq';
import type { Redis } from '../src/stores/redis/client.ts';
import { infoFields, readInfo } from '../src/stores/redis/info.ts';
import { memoryReserveKey } from '../src/stores/redis/names.ts';
import { scanKeys } from '../src/stores/redis/scan.ts';
import type { Logger } from '../src/telemetry/logger.ts';

/**
 * What about a hundred jobs in progress write before they free memory, with a margin: a job takes 2
 * KB beside its body.
 */
const reserveBytes = 8 * 1024 * 1024;
/**
 * Shares of `maxmemory`. Below the first the reserve is set aside; above the second it is released
 * before commands fail.
 */
const plentifulShare = 0.5;
const scarceShare = 0.95;
const lookEveryMs = 1_000;
/**
 * Finished bodies are forgotten only after a shortage of this length. Until then a body that is
 * sent again is still recognized.
 */
const shortageMsMin = 5_000;

/** Returns whether Redis refused a command because it has reached `maxmemory`. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.includes('OOM command not allowed');
}

export interface MemoryReserveDeps {
  redis: Redis;
  /** The lanes of bodies. */
  ingest: readonly Queue[];
  logger: Logger;
}

/**
 * Memory that is kept in Redis while there is plenty and released when there is none. A Redis at
 * its `maxmemory` also refuses to move jobs, so without the reserve the workers could not process
 * the jobs that fill it. Each processed body then frees more memory.
 */
export class MemoryReserve {
  readonly #deps: MemoryReserveDeps;
  #timer: NodeJS.Timeout | undefined;
  #releasing: Promise<void> | undefined;
  #shortSinceMs: number | undefined;

  constructor(deps: MemoryReserveDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look().catch(() => undefined), lookEveryMs);
    void this.look().catch(() => undefined);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Sets the reserve aside or releases it, depending on the memory of Redis. Throws what Redis
   * throws.
   */
  async look(): Promise<void> {
    const field = infoFields(await readInfo(this.#deps.redis, 'memory'));
    const [used, max] = [Number(field('used_memory')), Number(field('maxmemory'))];
    if (max === 0) return;
    if (used > max * scarceShare) return this.release();
    this.#shortSinceMs = undefined;
    if (used + reserveBytes < max * plentifulShare && !(await this.#isThere())) {
      await this.#deps.redis.set(memoryReserveKey, Buffer.alloc(reserveBytes), 'NX');
    }
  }

  /**
   * Releases the reserve. If it is already released, data that workers do not need goes too. Never
   * throws.
   */
  release(): Promise<void> {
    this.#releasing ??= this.#release()
      .catch(() => undefined) // Code that is still short of memory calls again.
      .finally(() => {
        this.#releasing = undefined;
      });
    return this.#releasing;
  }

  async #isThere(): Promise<boolean> {
    return (await this.#deps.redis.exists(memoryReserveKey)) === 1;
  }

  async #release(): Promise<void> {
    const { redis, ingest, logger } = this.#deps;
    if ((await redis.unlink(memoryReserveKey)) === 1) {
      logger.warn({ bytes: reserveBytes }, 'Redis is out of memory: the worker releases its reserve');
      return;
    }
    const nowMs = performance.now();
    this.#shortSinceMs ??= nowMs;
    if (nowMs - this.#shortSinceMs < shortageMsMin) return;
    this.#shortSinceMs = nowMs;
    for (const lane of ingest) {
      await lane.trimEvents(0);
      const forgotten = await forgetFinished(redis, lane);
      logger.warn({ queue: lane.name, forgotten }, 'Redis is out of memory: finished bodies are no longer remembered');
    }
  }
}

/**
 * Deletes finished jobs. A finished job has no `data`, only its outcome (see `dropBody`). Resolves
 * to the number of jobs deleted.
 */
async function forgetFinished(redis: Redis, lane: Queue): Promise<number> {
  let forgotten = 0;
  for await (const keys of scanKeys(redis, { match: `${lane.toKey('b_')}*`, type: 'hash' })) {
    const pipeline = redis.pipeline();
    for (const key of keys) pipeline.hexists(key, 'data');
    const answers = (await pipeline.exec()) ?? [];
    const finished = keys.filter((_, index) => answers[index]?.[1] === 0);
    if (finished.length > 0) forgotten += await redis.unlink(...finished);
  }
  return forgotten;
}
