import { workspaceBodyBytesMax } from '../lib/body-bytes.ts';
import { RateLimitedError, UnavailableError } from '../lib/errors.ts';

const mebibyte = 1024 * 1024;

export interface IntakeLimits {
  /** Maximum bytes of request bodies that this process holds at a time. */
  bytesMax: number;
  /** Maximum bytes per sharer. Must be at least the size of the largest allowed body. */
  bytesPerSharerMax: number;
  /** Maximum number of bodies that are arriving at the same time. */
  bodiesMax: number;
  /** Maximum number of arriving bodies per sharer. */
  bodiesPerSharerMax: number;
  /** Maximum bytes of all callers that are not known yet, whose sharer is their address. One has at most an eighth. */
  anonymousBytesMax: number;
  /** Maximum number of their arriving bodies. One address has at most an eighth of them. */
  anonymousBodiesMax: number;
}

const defaultLimits: IntakeLimits = {
  bytesMax: 128 * mebibyte,
  bytesPerSharerMax: workspaceBodyBytesMax,
  bodiesMax: 4_096,
  bodiesPerSharerMax: 512,
  anonymousBytesMax: 32 * mebibyte,
  anonymousBodiesMax: 1_024,
};

/** The share of the intake that one request holds. */
export interface BodyHold {
  /** The workspace or address that the bytes are counted for. */
  readonly sharer: string;
  /** Bytes held now. */
  readonly bytes: number;
  /**
   * Counts bytes as they arrive.
   * @throws RateLimitedError `workspace_busy` when the sharer has no room left
   * @throws UnavailableError `server_busy` when this process has no room left
   */
  take(bytes: number): void;
  /** Stops counting the body as arriving: it is complete, or the rest will not come. */
  arrived(): void;
  /** Frees the bytes when they are no longer needed. */
  release(): void;
}

interface Held {
  bytes: number;
  bodies: number;
}

/**
 * Limits the memory of request bodies in this process, counted as the bytes arrive. All workspaces,
 * and callers without one, share it. Each sharer holds at most a fixed amount (48 of 128 MiB, 512
 * of 4,096 arriving bodies) and at most as many bytes as are left for others, so that a small body fits however
 * many large ones there are. All anonymous callers together have a quarter. A body that does not fit is refused
 * immediately, because a waiting body would also use memory.
 */
export class BodyIntake {
  readonly #limits: IntakeLimits;
  readonly #bySharer = new Map<string, Held>();
  readonly #all: Held = { bytes: 0, bodies: 0 };
  readonly #anonymous: Held = { bytes: 0, bodies: 0 };

  constructor(limits: Partial<IntakeLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Bytes held now by all sharers together. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /**
   * Begins one body of a sharer.
   * @param isAnonymous whether the sharer is only an address
   * @throws RateLimitedError `workspace_busy` when too many bodies of the sharer are arriving
   * @throws UnavailableError `server_busy` when too many bodies are arriving in this process
   */
  open(sharer: string, isAnonymous = false): BodyHold {
    const { bytesMax, bytesPerSharerMax, anonymousBytesMax } = this.#limits;
    const { bodiesPerSharerMax, bodiesMax, anonymousBodiesMax } = this.#limits;
    const own = this.#heldOf(sharer);
    const anonymous = isAnonymous ? [this.#anonymous] : [];
    const ownBodiesMax = isAnonymous ? Math.min(bodiesPerSharerMax, anonymousBodiesMax / 8) : bodiesPerSharerMax;
    const ownBytesMax = isAnonymous ? Math.min(bytesPerSharerMax, anonymousBytesMax / 8) : bytesPerSharerMax;
    if (own.bodies >= ownBodiesMax) throw workspaceBusy(`${ownBodiesMax} request bodies`);
    if (this.#all.bodies >= bodiesMax) throw serverBusy(`${bodiesMax} request bodies`);
    if (isAnonymous && this.#anonymous.bodies >= anonymousBodiesMax)
      throw serverBusy(`${anonymousBodiesMax} anonymous request bodies`);
    this.#bySharer.set(sharer, own);
    const mine = { bytes: 0, bodies: 0 };
    let released = false;
    const add = (change: Held) => {
      for (const held of [own, this.#all, ...anonymous, mine]) {
        held.bytes += change.bytes;
        held.bodies += change.bodies;
      }
      const isIdle = own.bytes === 0 && own.bodies === 0;
      if (isIdle && this.#bySharer.get(sharer) === own) this.#bySharer.delete(sharer);
    };
    add({ bytes: 0, bodies: 1 });
    return {
      sharer,
      get bytes() {
        return mine.bytes;
      },
      take: (bytes) => {
        if (released) throw new Error('The request has ended');
        if (own.bytes + bytes > ownBytesMax) throw workspaceBusy(`${ownBytesMax} bytes of requests`);
        if (own.bytes + bytes > bytesMax - this.#all.bytes) throw serverBusy(`${bytesMax} bytes of requests`);
        if (isAnonymous && this.#anonymous.bytes + bytes > anonymousBytesMax)
          throw serverBusy(`${anonymousBytesMax} bytes of anonymous requests`);
        add({ bytes, bodies: 0 });
      },
      arrived: () => add({ bytes: 0, bodies: -mine.bodies }),
      release: () => {
        released = true;
        add({ bytes: -mine.bytes, bodies: -mine.bodies });
      },
    };
  }

  #heldOf(sharer: string): Held {
    return this.#bySharer.get(sharer) ?? { bytes: 0, bodies: 0 };
  }
}

function workspaceBusy(most: string): RateLimitedError {
  return new RateLimitedError(
    'workspace_busy',
    `This workspace already has ${most} in progress, which is the limit. Try again in a moment.`,
    { retryAfterS: 1 },
  );
}

function serverBusy(most: string): UnavailableError {
  return new UnavailableError(
    'server_busy',
    `This server already has ${most} in progress, which is the limit. Try again in a moment.`,
    {
      retryAfterS: 1,
    },
  );
}
