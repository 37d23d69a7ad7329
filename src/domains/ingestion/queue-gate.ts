import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { UnavailableError } from '../../lib/errors.ts';
import type { Logger } from '../../telemetry/logger.ts';

const pollMs = 500;
/** While bodies are refused: each look that is late costs senders a repetition. */
const refusingPollMs = 100;
const connectTimeoutMs = 1_000;
const oldestWaitingMsMax = 15 * 60_000;
/** The part of Redis that bodies may fill; the rest is for the workers that drain them. */
const memoryShareMax = 0.8;

export interface QueueGateDeps {
  redis: Redis;
  logger: Logger;
  /** When the oldest waiting job was received, in milliseconds since the epoch; undefined when none waits. */
  oldestWaitingAtMs: () => Promise<number | undefined>;
  /** The bound on Redis' memory where Redis itself sets none, in bytes. */
  memoryBytesMax: number;
}

/**
 * Knows whether a body would be kept safely and in time: Redis answers, is durable, has room, and the workers keep up. Polled,
 * so that a request pays nothing and an outage is answered at once.
 */
export class QueueGate {
  readonly #deps: QueueGateDeps;
  #refusal: string | undefined = 'ingestion is starting';
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: QueueGateDeps) {
    this.#deps = deps;
  }

  /** The first look, once connected or after a second; afterwards it looks by itself until {@link close}. */
  async start(): Promise<void> {
    const { redis } = this.#deps;
    if (redis.status !== 'ready') {
      // A look without a connection would refuse the first requests of a process that is about to have one.
      await once(redis, 'ready', { signal: AbortSignal.timeout(connectTimeoutMs) }).catch(() => undefined);
    }
    await this.#look();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Throws UnavailableError while bodies cannot be taken. */
  assertOpen(): void {
    if (this.#refusal === undefined) return;
    throw new UnavailableError(
      'ingest_unavailable',
      `Spans cannot be taken right now: ${this.#refusal}. Send them again.`,
      {
        retryAfterS: 1,
      },
    );
  }

  /** A publish failed: refuse at once until the next look says otherwise. */
  reportFailure(): void {
    this.#set('the queue cannot be reached');
  }

  async #look(): Promise<void> {
    try {
      const [persistence, memory, oldestAtMs] = await Promise.all([
        this.#deps.redis.info('persistence'),
        this.#deps.redis.info('memory'),
        this.#deps.oldestWaitingAtMs(),
      ]);
      this.#set(refusalOf(`${persistence}\n${memory}`, oldestAtMs, this.#deps.memoryBytesMax));
    } catch {
      this.#set('the queue cannot be reached');
    }
    const nextMs = this.#refusal === undefined ? pollMs : refusingPollMs;
    if (!this.#closed) this.#timer = setTimeout(() => this.#look(), nextMs).unref();
  }

  #set(refusal: string | undefined): void {
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    if (refusal === undefined) this.#deps.logger.info('ingestion open');
    else this.#deps.logger.warn({ refusal }, 'ingestion refused');
  }
}

/** Why bodies must be refused, from the text of INFO and the age of the oldest job; undefined when they need not be. */
export function refusalOf(
  info: string,
  oldestWaitingAtMs: number | undefined,
  memoryBytesMax: number,
): string | undefined {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const used = Number(field('used_memory'));
  const max = Number(field('maxmemory')) * memoryShareMax || memoryBytesMax;
  if (field('loading') === '1') return 'the queue is loading its data';
  if (field('aof_enabled') !== '1') return 'Redis runs without its append-only file (set appendonly yes)';
  if (field('aof_last_write_status') !== 'ok') return 'Redis cannot write its append-only file';
  if (field('maxmemory_policy') !== 'noeviction') return 'Redis may evict data (set maxmemory-policy noeviction)';
  if (used > max) return `the queue holds ${used} bytes, more than its ${Math.round(max)}`;
  if (oldestWaitingAtMs !== undefined && Date.now() - oldestWaitingAtMs > oldestWaitingMsMax) {
    return 'the workers are more than 15 minutes behind';
  }
  return undefined;
}
