import { RateLimitedError, UnavailableError } from '../lib/errors.ts';

const mebibyte = 1024 * 1024;

export interface IntakeLimits {
  /** Bytes of bodies that this process holds at once. */
  bytesMax: number;
  /** Of these for one sharer; at least as much as the largest body. */
  bytesPerSharerMax: number;
  /** Bodies on their way at once. */
  bodiesMax: number;
  /** Of these for one sharer. */
  bodiesPerSharerMax: number;
}

const defaultLimits: IntakeLimits = {
  bytesMax: 128 * mebibyte,
  bytesPerSharerMax: 48 * mebibyte,
  bodiesMax: 4_096,
  bodiesPerSharerMax: 512,
};

/** What one request holds of the intake. */
export interface BodyHold {
  /** Who takes part in the sharing: a workspace, or an address. */
  readonly sharer: string;
  /** Bytes held now. */
  readonly bytes: number;
  /** Counts bytes as they arrive. Throws RateLimitedError `workspace_busy` or UnavailableError `server_busy` when there is no room. */
  take(bytes: number): void;
  /** The body is there as a whole, or will not come: it no longer counts as one on its way. */
  arrived(): void;
  /** The bytes are needed no longer. */
  release(): void;
}

interface Held {
  bytes: number;
  bodies: number;
}

/**
 * Bounds the request bodies in the memory of this process, counted byte by byte as they arrive. Shared by all workspaces, and by
 * callers without one; each holds at most its part (48 of 128 MiB, 512 of 4,096 bodies on their way), so that a connection that
 * sends nothing costs the others nothing. What does not fit is refused at once rather than kept waiting in memory.
 */
export class BodyIntake {
  readonly #limits: IntakeLimits;
  readonly #bySharer = new Map<string, Held>();
  readonly #all: Held = { bytes: 0, bodies: 0 };

  constructor(limits: Partial<IntakeLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Bytes held now, all sharers together. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /** Begins one body of a sharer. Throws RateLimitedError `workspace_busy` or UnavailableError `server_busy` when too many are on their way. */
  open(sharer: string): BodyHold {
    const { bodiesMax, bodiesPerSharerMax, bytesMax, bytesPerSharerMax } = this.#limits;
    const own = this.#heldOf(sharer);
    if (own.bodies >= bodiesPerSharerMax) throw workspaceBusy(`${bodiesPerSharerMax} request bodies`);
    if (this.#all.bodies >= bodiesMax) throw serverBusy(`${bodiesMax} request bodies`);
    this.#bySharer.set(sharer, own);
    const mine = { bytes: 0, bodies: 0 };
    let released = false;
    const add = (change: Held) => {
      for (const held of [own, this.#all, mine]) {
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
        if (released) throw new Error('The request that held this is over');
        if (own.bytes + bytes > bytesPerSharerMax) throw workspaceBusy(`${bytesPerSharerMax} bytes of requests`);
        if (this.#all.bytes + bytes > bytesMax) throw serverBusy(`${bytesMax} bytes of requests`);
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
    `This workspace has ${most} under way already, the most there may be; try again in a moment.`,
    { retryAfterS: 1 },
  );
}

function serverBusy(most: string): UnavailableError {
  return new UnavailableError('server_busy', `This server has ${most} under way already; try again in a moment.`, {
    retryAfterS: 1,
  });
}
