import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Rest, sharedThird } from '../lib/pace.ts';

/** Reading pauses after each such amount of bytes, because copying them takes one to two milliseconds. */
export const slackBytes = 1024 * 1024;
/** At 4 MiB/s, the largest body ends before its connection is closed (`lingerMs`). */
const restMs = 250;
const turn = sharedThird('unwanted bodies');

/**
 * The pause in a body whose request was answered before its end: the rest is only read so that its client sees the
 * answer. All such bodies together have one turn in the third of the event loop for large work, as one workspace has.
 */
export const restOfUnwanted: Rest = async () => {
  await turn();
  await delay(restMs, undefined, { ref: false });
};

/** Pauses a stream after each {@link slackBytes} that it reads, for as long as `rest` says then. */
export function readInTurns(stream: NodeJS.ReadableStream, rest: Rest): void {
  let length = 0;
  let restAt = slackBytes;
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length < restAt) return;
    restAt += slackBytes;
    stream.pause();
    void rest().then(() => stream.resume());
  });
}

/** Reads the body of a request that nothing has begun to read. Node would read it as fast as it comes. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || req.listenerCount('data') > 0) return;
  // Node discards the bodies of requests that were never read.
  req.read(0);
  readInTurns(req, restOfUnwanted);
}
