import { UnavailableError } from '../../lib/errors.ts';

/** At some 3 ms of work a request, the last one of these waits a fifth of a second. */
const requestsMax = 64;
const bytesMax = 128 * 1024 * 1024;

/** Bounds what one process works on at once: a request beyond it is answered 503 instead of waiting. */
export class Admission {
  #requests = 0;
  #bytes = 0;

  /** Runs `work` while its place is held. Throws UnavailableError when all places are taken. */
  async hold<T>(work: (reserve: (bytes: number) => void) => Promise<T>): Promise<T> {
    if (this.#requests >= requestsMax) throw busy(`${requestsMax} requests`);
    this.#requests++;
    let reserved = 0;
    try {
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
}

function busy(limit: string): UnavailableError {
  return new UnavailableError('ingest_unavailable', `This server already works on ${limit}; send the spans again.`, {
    retryAfterS: 1,
  });
}
