import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client that sends so many requests ahead of their answers is cut off; those few that do so at all send some ten. */
const waitingMax = 128;
/** Of all such requests so many begin in a turn of the event loop: they are a millisecond of it. */
const begunPerTurn = 4;

interface Pipeline {
  isBusy: boolean;
  waiting: (() => void)[];
}

/**
 * Requests that a client sends on one connection without waiting for answers (RFC 9112, 9.3.2). They are answered in order anyway, so
 * each begins when the one before it has ended, and few in one turn of the event loop: Node would begin all that arrived together,
 * some hundreds. Shared by all connections of the process, in the order in which those before them ended.
 */
export class Pipelines {
  readonly #ofSockets = new WeakMap<Socket, Pipeline>();
  readonly #due: (() => void)[] = [];
  #willBegin = false;

  /** Begins a request in its turn; never when its connection closes before. */
  serve(res: ServerResponse, begin: () => void): void {
    const { socket } = res.req;
    const pipeline = this.#pipelineOf(socket);
    const beginNow = () => {
      if (socket.destroyed) return;
      res.once('close', () => this.#end(pipeline));
      begin();
    };
    if (!pipeline.isBusy) {
      pipeline.isBusy = true;
      beginNow();
    } else if (pipeline.waiting.length < waitingMax) pipeline.waiting.push(beginNow);
    else socket.destroy();
  }

  #end(pipeline: Pipeline): void {
    const next = pipeline.waiting.shift();
    if (next === undefined) {
      pipeline.isBusy = false;
      return;
    }
    this.#due.push(next);
    this.#beginDue();
  }

  #beginDue(): void {
    if (this.#willBegin || this.#due.length === 0) return;
    this.#willBegin = true;
    setImmediate(() => {
      this.#willBegin = false;
      for (const begin of this.#due.splice(0, begunPerTurn)) begin();
      this.#beginDue();
    });
  }

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#ofSockets.get(socket);
    if (known !== undefined) return known;
    const pipeline = { isBusy: false, waiting: [] };
    this.#ofSockets.set(socket, pipeline);
    return pipeline;
  }
}
