import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client that sends so many requests ahead of their answers is cut off; those few that do so at all send some ten. */
const waitingMax = 128;

interface Pipeline {
  isBusy: boolean;
  waiting: (() => void)[];
}

/**
 * Requests that a client sends on one connection without waiting for answers (RFC 9112, 9.3.2). They are answered in order anyway, so
 * each begins when the one before it has ended, and in a turn of the event loop of its own: Node would begin all that arrived
 * together, some hundreds, in one.
 */
export class Pipelines {
  readonly #ofSockets = new WeakMap<Socket, Pipeline>();

  /** Begins a request in its turn; never when its connection closes before. */
  serve(res: ServerResponse, begin: () => void): void {
    const { socket } = res.req;
    const pipeline = this.#pipelineOf(socket);
    const beginNow = () => {
      if (socket.destroyed) return;
      res.once('close', () => end(pipeline));
      begin();
    };
    if (!pipeline.isBusy) {
      pipeline.isBusy = true;
      beginNow();
    } else if (pipeline.waiting.length < waitingMax) pipeline.waiting.push(beginNow);
    else socket.destroy();
  }

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#ofSockets.get(socket);
    if (known !== undefined) return known;
    const pipeline = { isBusy: false, waiting: [] };
    this.#ofSockets.set(socket, pipeline);
    return pipeline;
  }
}

function end(pipeline: Pipeline): void {
  const next = pipeline.waiting.shift();
  if (next === undefined) pipeline.isBusy = false;
  else setImmediate(next);
}
