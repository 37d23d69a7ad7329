import { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FairLane } from '../lib/fair-lane.ts';
import { sharedThird } from '../lib/pace.ts';
import { readInTurns } from './read-in-turns.ts';

/** So all unwanted bodies together are read at up to 50 MiB/s. */
const restMs = 16;
const turn = sharedThird('unwanted bodies');
/**
 * Unwanted bodies pause one after the other, in turn between sharers. So many of one sharer wait for two to three
 * seconds. A further one is not read any more, so its connection is closed after `lingerMs`.
 */
const pauses = new FairLane({
  ...{ name: 'unwanted bodies', capacity: 1, perKey: 1 },
  ...{ waitingPerKey: 128, waitingMax: 4_096 },
});
/** Counted for all of them together, because one client can send very many that are smaller than the bytes until a pause. */
const unwanted = { bytes: 0 };

/**
 * Reads the rest of a body whose request is refused, only so that its client sees the answer and the connection can
 * take another request. All such bodies together have one turn in the third of the event loop for large work, as one
 * workspace has.
 */
export function readUnwanted(stream: NodeJS.ReadableStream, sharer: string): void {
  const req = stream instanceof IncomingMessage ? stream : undefined;
  const socket = req?.socket;
  const pause = async () => {
    // Others do not wait for connections that were closed meanwhile. A paused one is closed after `lingerMs`.
    if (socket?.destroyed) return;
    await delay(restMs, undefined, { ref: false });
    await turn();
  };
  const rest = () =>
    pauses.run(sharer, pause).catch((error) => {
      // Nothing more comes of one that is complete.
      if (req?.complete !== true) throw error;
    });
  readInTurns(stream, rest, unwanted);
  stream.resume();
}

/** Reads the rest of a body whose request was answered before its end. Node would read it as fast as it comes. */
export function discardBody(req: IncomingMessage, sharer: string): void {
  if (req.complete || req.destroyed || req.listenerCount('data') > 0) return;
  // Node discards the bodies of requests that were never read.
  req.read(0);
  readUnwanted(req, sharer);
}
