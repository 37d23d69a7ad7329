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
  #joined: ReceivedBytes | undefined;
  #bytes = 0;
  /** Small chunks among those that are joined. */
  #small = 0;
  #beganAtMs = 0;
  /** What reading a small chunk took. */
  #msPerChunk = 0;

  override push(chunk: Buffer | null): boolean {
    const isSmall = chunk !== null && chunk.length < smallBytesMax && this.headers['transfer-encoding'] !== undefined;
    if (chunk === null || (this.#joined === undefined && !isSmall)) {
      this.#pushJoined();
      return super.push(chunk);
    }
    const joined = this.#joined ?? this.#beginToJoin();
    // A larger one joins as well: chunks are in order, and the count goes on.
    joined.add(chunk);
    this.#bytes += chunk.length;
    if (isSmall && ++this.#small === chunksAtOnce) {
      this.#msPerChunk = (performance.now() - this.#beganAtMs) / chunksAtOnce;
    }
    return this.#small <= chunksAtOnce && this.#bytes < this.readableHighWaterMark;
  }

  #beginToJoin(): ReceivedBytes {
    this.#joined = new ReceivedBytes();
    this.#beganAtMs = performance.now();
    setImmediate(() => void this.#pushInTurn());
    return this.#joined;
  }

  async #pushInTurn(): Promise<void> {
    const pauseMs = Math.min(pausePerReading * this.#small * this.#msPerChunk, pauseMsMax);
    if (this.#small > chunksAtOnce) await pauses.run(this.socket.remoteAddress ?? '', () => delay(pauseMs));
    this.#pushJoined();
  }

  #pushJoined(): void {
    const joined = this.#joined;
    this.#joined = undefined;
    this.#bytes = 0;
    this.#small = 0;
    if (joined !== undefined && !this.destroyed) super.push(joined.join());
  }
}
