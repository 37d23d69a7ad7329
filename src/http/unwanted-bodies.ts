import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { type Rest, sharedThird } from '../lib/pace.ts';

/** Reading pauses after each such amount of bytes, because copying them takes one to two milliseconds. */
const slackBytes = 1024 * 1024;
/** So all unwanted bodies together are read at up to 50 MiB/s. */
const restMs = 16;
const turn = sharedThird('unwanted bodies');
/** Unwanted bodies pause one after the other, in turn between sharers. */
const pauses = new FairLane({
  ...{ name: 'unwanted bodies', capacity: 1, perKey: 1 },
  ...{ waitingPerKey: Number.POSITIVE_INFINITY, waitingMax: Number.POSITIVE_INFINITY },
});
/** Counted for all of them together, because one client can send very many that are smaller than {@link slackBytes}. */
const unwanted = { bytes: 0 };

/**
 * Pauses a stream after each {@link slackBytes} that are read, for as long as `rest` says then.
 * @returns a function that ends this
 */
export function readInTurns(stream: NodeJS.ReadableStream, rest: Rest, read = { bytes: 0 }): () => void {
  const count = (chunk: Buffer) => {
    read.bytes += chunk.length;
    if (read.bytes < slackBytes) return;
    read.bytes = 0;
    stream.pause();
    void rest().then(() => stream.resume());
  };
  stream.on('data', count);
  return () => stream.off('data', count);
}

/**
 * Reads the rest of a body whose request is refused, only so that its client sees the answer and the connection can
 * take another request. All such bodies together have one turn in the third of the event loop for large work, as one
 * workspace has.
 */
export function readUnwanted(stream: NodeJS.ReadableStream, sharer: string): void {
  const rest = () =>
    pauses.run(sharer, async () => {
      await delay(restMs, undefined, { ref: false });
      await turn();
    });
  readInTurns(stream, rest, unwanted);
}

/** Reads the rest of a body whose request was answered before its end. Node would read it as fast as it comes. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  if (req.listenerCount('data') === 0) {
    // Node discards the bodies of requests that were never read.
    req.read(0);
    readUnwanted(req, req.socket.remoteAddress ?? '');
  }
  // A request stays paused after `unpipe`.
  req.resume();
}
