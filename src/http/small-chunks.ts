import { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { networkOf } from '../lib/network-of.ts';
import { isUnread, noteReadCost } from './read-turns.ts';
import { ReceivedBytes, smallBytesMax } from './received-bytes.ts';

/** What Node takes to pass on a small chunk. */
const msPerChunk = 0.0014;
/** Small chunks of one connection that are read without a pause. They take a millisecond or two. */
const chunksAtOnce = 1_000;
/** Then a pause follows, so many times as long as the reading. A read of the socket has up to 11,000 chunks: 15 ms. */
const pausePerReading = 6;
/** Others wait for the pause, so a process that was stopped while it read must not pause for long. */
const pauseMsMax = 500;
/**
 * Connections that have sent very many small chunks pause one after the other, in turn between addresses. More than may
 * wait are disconnected.
 */
const pauses = new FairLane({
  ...{ name: 'small chunks', capacity: 1, perKey: 1 },
  ...{ waitingPerKey: 512, waitingMax: 4_096 },
});
const pausing = new WeakSet<IncomingMessage>();

/** Tells whether this process does not read the body of the request, because its chunks are small. */
export const isPausing = (request: IncomingMessage): boolean => pausing.has(request) || isUnread(request.socket);

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
  #hasEnded = false;
  #beganAtMs = 0;
  /** What reading a small chunk took. */
  #msPerChunk = 0;

  override push(chunk: Buffer | null): boolean {
    const isSmall = chunk !== null && chunk.length < smallBytesMax && this.headers['transfer-encoding'] !== undefined;
    if (chunk === null) {
      this.#hasEnded = true;
      if (this.#small <= chunksAtOnce) this.#pushJoined();
      return false;
    }
    if (isSmall) noteReadCost(this.socket, msPerChunk);
    if (this.#joined === undefined && !isSmall) return super.push(chunk);
    const joined = this.#joined ?? this.#beginToJoin();
    // A larger one joins as well: chunks are in order, and the count goes on.
    joined.add(chunk);
    this.#bytes += chunk.length;
    if (isSmall && ++this.#small === chunksAtOnce) {
      this.#msPerChunk = (performance.now() - this.#beganAtMs) / chunksAtOnce;
    }
    return this.#small <= chunksAtOnce && this.readableLength + this.#bytes < this.readableHighWaterMark;
  }

  #beginToJoin(): ReceivedBytes {
    this.#joined = new ReceivedBytes();
    this.#beganAtMs = performance.now();
    setImmediate(() => void this.#pushInTurn());
    return this.#joined;
  }

  async #pushInTurn(): Promise<void> {
    if (this.#small > chunksAtOnce) await this.#pause();
    this.#pushJoined();
  }

  /** Waits for its turn and a pause. Ends at once when the client leaves. */
  async #pause(): Promise<void> {
    const pauseMs = Math.min(pausePerReading * this.#small * this.#msPerChunk, pauseMsMax);
    const gone = new AbortController();
    const leave = () => gone.abort();
    this.once('close', leave);
    pausing.add(this);
    const options = { waiter: gone };
    const wait = () => delay(pauseMs, undefined, gone);
    await pauses.run(networkOf(this.socket.remoteAddress), wait, options).catch(() => this.socket.destroy());
    pausing.delete(this);
    this.off('close', leave);
  }

  #pushJoined(): void {
    const joined = this.#joined;
    this.#joined = undefined;
    this.#bytes = 0;
    this.#small = 0;
    if (this.destroyed) return;
    if (joined !== undefined) super.push(joined.join());
    if (!this.#hasEnded) return;
    this.#hasEnded = false;
    super.push(null);
  }
}
