import { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { ReceivedBytes, smallBytesMax } from './received-bytes.ts';

/** Small chunks of one connection that are read without a pause. They take a millisecond or two. */
const chunksAtOnce = 1_000;
/** Then a pause follows, so many times as long as the reading. A read of the socket has up to 11,000 chunks: 15 ms. */
const pausePerReading = 6;
/** Others wait for the pause, so a process that was stopped while it read must not pause for long. */
const pauseMsMax = 500;
/** Connections that have sent very many small chunks pause one after the other, in turn between addresses. */
const pauses = new FairLane({
  ...{ name: 'small chunks', capacity: 1, perKey: 1 },
  ...{ waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY },
});

/**
 * A request that joins the small chunks of its body (RFC 9112, 7.1) that arrive in one turn of the event loop. Node
 * would keep up to 27,000 chunks of a byte for a connection that is not read, which is 8 MB, and read 350,000
 * in one turn. All such connections together take a seventh of the event loop.
 */
export class JoinedRequest extends IncomingMessage {
  #small: ReceivedBytes | undefined;
  #count = 0;
  #beganAtMs = 0;
  /** What reading a small chunk took. */
  #msPerChunk = 0;

  override push(chunk: Buffer | null): boolean {
    if (chunk === null || chunk.length >= smallBytesMax || this.headers['transfer-encoding'] === undefined) {
      this.#pushSmall();
      return super.push(chunk);
    }
    if (this.#small === undefined) {
      this.#small = new ReceivedBytes();
      this.#beganAtMs = performance.now();
      setImmediate(() => void this.#pushInTurn());
    }
    this.#small.add(chunk);
    if (++this.#count === chunksAtOnce) this.#msPerChunk = (performance.now() - this.#beganAtMs) / chunksAtOnce;
    return this.#count <= chunksAtOnce;
  }

  async #pushInTurn(): Promise<void> {
    const pauseMs = Math.min(pausePerReading * this.#count * this.#msPerChunk, pauseMsMax);
    if (this.#count > chunksAtOnce) await pauses.run(this.socket.remoteAddress ?? '', () => delay(pauseMs));
    this.#pushSmall();
  }

  #pushSmall(): void {
    const small = this.#small;
    this.#small = undefined;
    this.#count = 0;
    if (small !== undefined && !this.destroyed) super.push(small.join());
  }
}
