import type { Queue } from 'bullmq';
import { infoFields } from '../src/queue/redis-info.ts';
import type { Redis } from '../src/stores/redis/client.ts';
import type { Logger } from '../src/telemetry/logger.ts';

/** No tenant's data, so the key has no tenant. All workers share it. */
export const memoryReserveKey = 'promptlane:memory-reserve';
/** What some hundred jobs under way write before they free memory, with room: a job takes 2 KB beside its body. */
const reserveBytes = 8 * 1024 * 1024;
/** The part of `maxmemory` below which the reserve is put by, and above which it is given up before anything fails. */
const plentifulShare = 0.5;
const scarceShare = 0.95;
const lookEveryMs = 1_000;
/** Finished bodies are forgotten only after a shortage of so long: until then a resend is still known as one. */
const shortageMsMin = 5_000;
const keysPerScan = 1_000;

/** Whether Redis refused a command because it holds as much as it may. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.includes('OOM command not allowed');
}

export interface MemoryReserveDeps {
  redis: Redis;
  /** The lanes. */
  ingest: readonly Queue[];
  logger: Logger;
}

/**
 * Memory that is kept in Redis while there is plenty, and given up when there is none: a Redis at its `maxmemory` refuses the moves
 * of jobs too, so without it the workers could not drain what fills it. Every body that is drained then frees more.
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

  /** Puts the reserve by or gives it up, as Redis' memory is. Throws what Redis throws. */
  async look(): Promise<void> {
    const field = infoFields(await this.#deps.redis.info('memory'));
    const [used, max] = [Number(field('used_memory')), Number(field('maxmemory'))];
    if (max === 0) return;
    if (used > max * scarceShare) return this.release();
    this.#shortSinceMs = undefined;
    if (used + reserveBytes < max * plentifulShare && !(await this.#isThere())) {
      await this.#deps.redis.set(memoryReserveKey, Buffer.alloc(reserveBytes), 'NX');
    }
  }

  /** Gives it up; when it is given up already, what is not needed to drain goes too. Never throws. */
  release(): Promise<void> {
    this.#releasing ??= this.#release()
      .catch(() => undefined) // What is still short of memory asks again.
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
      logger.warn({ bytes: reserveBytes }, 'Redis is out of memory: its reserve is given up');
      return;
    }
    const nowMs = performance.now();
    this.#shortSinceMs ??= nowMs;
    if (nowMs - this.#shortSinceMs < shortageMsMin) return;
    this.#shortSinceMs = nowMs;
    for (const lane of ingest) {
      await lane.trimEvents(0);
      const forgotten = await forgetFinished(redis, lane);
      logger.warn({ queue: lane.name, forgotten }, 'Redis is out of memory: finished bodies are forgotten');
    }
  }
}

/** Of a finished job nothing is left but what became of it (see dropBody): no `data`. Resolves to how many there were. */
async function forgetFinished(redis: Redis, lane: Queue): Promise<number> {
  let forgotten = 0;
  const scan = redis.scanStream({ match: `${lane.toKey('b_')}*`, count: keysPerScan, type: 'hash' });
  for await (const keys of scan as AsyncIterable<string[]>) {
    const pipeline = redis.pipeline();
    for (const key of keys) pipeline.hexists(key, 'data');
    const answers = (await pipeline.exec()) ?? [];
    const finished = keys.filter((_, index) => answers[index]?.[1] === 0);
    if (finished.length > 0) forgotten += await redis.unlink(...finished);
  }
  return forgotten;
}
