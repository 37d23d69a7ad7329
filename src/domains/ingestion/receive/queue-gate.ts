import { once } from 'node:events';
import { UnavailableError } from '../../../lib/errors.ts';
import type { WorkspaceBacklog } from '../../../queue/backlog.ts';
import type { RedisClock } from '../../../queue/redis-clock.ts';
import type { Redis } from '../../../stores/redis/client.ts';
import { readInfo } from '../../../stores/redis/info.ts';
import type { Logger } from '../../../telemetry/logger.ts';
import type { KeptGauge } from '../../../telemetry/metrics.ts';
import { BacklogShares, type BacklogSharesDeps, type BodyMemory } from './backlog-shares.ts';
import { bodiesBytesMax, bytesLeft, refusalOf, unsafeReasonOf } from './queue-refusal.ts';

const pollMs = 500;
/** Poll interval while bodies are refused. A late poll makes clients repeat requests needlessly. */
const refusingPollMs = 100;
const connectTimeoutMs = 1_000;
/**
 * A host whose clock differs by more from Redis is reported. Nothing depends on it: receipts use
 * the clock of Redis.
 */
export const clockMsMax = 30_000;
const unreachable = 'the queue cannot be reached';

export interface QueueGateDeps extends BacklogSharesDeps {
  redis: Redis;
  logger: Logger;
  /** Every poll updates it. */
  clock: RedisClock;
  /**
   * Returns since when the workers leave a lane waiting, in milliseconds since the epoch; undefined when
   * no body waits.
   */
  waitingSinceMs: () => Promise<number | undefined>;
  /** The bound on the memory of Redis, in bytes, when Redis itself sets no `maxmemory`. */
  memoryBytesMax: number;
}

/**
 * Knows whether a body would be stored safely and in time: Redis answers, is durable and has room,
 * and the workers keep up. It polls, so that a request costs nothing and an outage is answered at
 * once. All workspaces share the memory; one may fill at most a quarter of it, and no more than it leaves.
 */
export class QueueGate {
  readonly #deps: QueueGateDeps;
  readonly #shares: BacklogShares;
  #refusal: string | undefined = 'ingestion is starting';
  /** A reason for which nothing may be queued, not even something small. */
  #unsafe: string | undefined = 'ingestion is starting';
  #bodiesBytesMax = Number.POSITIVE_INFINITY;
  #bytesLeft = Number.POSITIVE_INFINITY;
  #clockIsOff = false;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: QueueGateDeps) {
    this.#deps = deps;
    this.#shares = new BacklogShares(deps);
  }

  /**
   * Polls once, when Redis is connected or after one second. Then polls by itself until
   * {@link close}.
   */
  async start(): Promise<void> {
    const { redis } = this.#deps;
    if (redis.status !== 'ready') {
      // A poll without a connection would refuse the first requests while the process still
      // connects.
      await once(redis, 'ready', { signal: AbortSignal.timeout(connectTimeoutMs) }).catch(() => undefined);
    }
    await this.#look();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Why bodies are refused; undefined while they are accepted. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** The Prometheus gauge of the memory for bodies. When nothing is left, bodies are refused. */
  readonly memory: KeptGauge<'of'> = {
    name: 'ingest_memory_bytes',
    help: 'Memory of Redis for bodies: all of it, and what is left',
    labels: ['of'],
    read: async () =>
      Number.isFinite(this.#bodiesBytesMax)
        ? [
            { of: 'all', value: this.#bodiesBytesMax },
            { of: 'left', value: this.#bytesLeft },
          ]
        : [],
  };

  /**
   * Checks that bodies are accepted.
   * @throws UnavailableError while they are not
   */
  assertOpen(): void {
    if (this.#refusal !== undefined) throw refused(this.#refusal);
  }

  /**
   * Checks that Redis would store a body or anything small.
   * @throws UnavailableError while it would not
   */
  assertSafe(): void {
    if (this.#unsafe === undefined) return;
    throw new UnavailableError(
      'queue_unavailable',
      `The service cannot queue data at the moment: ${this.#unsafe}. Send the request again.`,
      {
        retryAfterS: 1,
      },
    );
  }

  /**
   * Checks that bodies of this workspace are accepted.
   * @throws UnavailableError while bodies are not accepted
   * @throws RateLimitedError `workspace_busy` while this workspace fills more than its share of the
   * memory for bodies, or has more waiting than is served in a day
   */
  async assertRoomFor(workspaceId: string): Promise<void> {
    this.assertOpen();
    await this.#shares.assertRoom(workspaceId, this.#memory);
  }

  /**
   * Counts bytes that are about to be published as used, until the next poll.
   * @throws UnavailableError when there is no room
   */
  take(bytes: number): void {
    this.assertOpen();
    if (bytes > this.#bytesLeft) throw refused('the queue is full');
    this.#bytesLeft -= bytes;
  }

  /** Counts bytes as free again that were taken and are not published. */
  giveBack(bytes: number): void {
    this.#bytesLeft += bytes;
  }

  /** Notes the unfinished bodies of a workspace, as a publish reported them. */
  noteBacklog(workspaceId: string, backlog: WorkspaceBacklog): void {
    this.#shares.note(workspaceId, backlog, this.#memory);
  }

  /** Notes that a publish failed. Bodies are refused until the next poll decides otherwise. */
  reportFailure(): void {
    this.#set(unreachable, unreachable);
  }

  get #memory(): BodyMemory {
    return { bytesMax: this.#bodiesBytesMax, bytesLeft: this.#bytesLeft };
  }

  async #look(): Promise<void> {
    const { redis, clock, memoryBytesMax } = this.#deps;
    try {
      const [persistence, memory, sinceMs] = await Promise.all([
        readInfo(redis, 'persistence'),
        readInfo(redis, 'memory'),
        this.#deps.waitingSinceMs(),
        clock.look(redis),
      ]);
      const info = `${persistence}\n${memory}`;
      this.#bodiesBytesMax = bodiesBytesMax(info, memoryBytesMax);
      this.#bytesLeft = bytesLeft(info, memoryBytesMax);
      const unsafe = unsafeReasonOf(info);
      this.#set(unsafe ?? refusalOf(info, sinceMs, memoryBytesMax, clock.nowMs()), unsafe);
      this.#checkClock();
    } catch {
      this.#set(unreachable, unreachable);
    }
    const nextMs = this.#refusal === undefined ? pollMs : refusingPollMs;
    if (!this.#closed) this.#timer = setTimeout(() => this.#look(), nextMs).unref();
  }

  #checkClock(): void {
    const aheadMs = this.#deps.clock.hostAheadMs();
    const isOff = Math.abs(aheadMs) > clockMsMax;
    if (isOff && !this.#clockIsOff) {
      this.#deps.logger.warn(
        { ahead_s: Math.round(aheadMs / 1_000) },
        'the clock of this host differs from that of Redis',
      );
    }
    this.#clockIsOff = isOff;
  }

  #set(refusal: string | undefined, unsafe: string | undefined): void {
    this.#unsafe = unsafe;
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    if (refusal === undefined) this.#deps.logger.info('ingestion open');
    else this.#deps.logger.warn({ refusal }, 'ingestion refused');
  }
}

function refused(reason: string): UnavailableError {
  return new UnavailableError(
    'ingest_unavailable',
    `The service cannot accept spans at the moment: ${reason}. Send them again.`,
    {
      retryAfterS: 1,
    },
  );
}
