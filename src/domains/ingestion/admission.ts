import { UnavailableError } from '../../lib/errors.ts';

/** At some 3 ms of work a request, the last one of these waits a fifth of a second. */
const requestsMax = 64;
const bytesMax = 128 * 1024 * 1024;
/**
 * Of the requests that are ready together so many are worked on before the others are looked at. Node takes one new connection in a
 * turn of its event loop, so in long turns clients would wait where nobody sees them, instead of being answered 503.
 */
const requestsPerTurn = 2;

/** Bounds what one process works on at once: a request beyond it is answered 503 instead of waiting. */
export class Admission {
  #requests = 0;
  #bytes = 0;
  #begunThisTurn = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs `work` while its place is held. Throws UnavailableError when all places are taken. */
  async hold<T>(work: (reserve: (bytes: number) => void) => Promise<T>): Promise<T> {
    if (this.#requests >= requestsMax) throw busy(`${requestsMax} requests`);
    this.#requests++;
    let reserved = 0;
    try {
      await this.#turn();
      return await work((bytes) => {
        if (this.#bytes + bytes > bytesMax && this.#bytes > 0) throw busy(`${bytesMax} bytes`);
        this.#bytes += bytes;
        reserved += bytes;
      });
    } finally {
      this.#requests--;
      this.#bytes -= reserved;
    }
  }

  /** Resolves in this turn of the event loop or in one of the next, first come first served. */
  #turn(): Promise<void> | undefined {
    if (this.#begunThisTurn === 0) setImmediate(() => this.#endTurn());
    if (this.#begunThisTurn < requestsPerTurn) {
      this.#begunThisTurn++;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #endTurn(): void {
    const next = this.#waiting.splice(0, requestsPerTurn);
    this.#begunThisTurn = next.length;
    if (next.length > 0) setImmediate(() => this.#endTurn());
    for (const begin of next) begin();
  }
}

function busy(limit: string): UnavailableError {
  return new UnavailableError('ingest_unavailable', `This server already works on ${limit}; send the spans again.`, {
    retryAfterS: 1,
  });
}
