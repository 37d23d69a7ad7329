import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FewPerTurn } from '../lib/few-per-turn.ts';

/**
 * A client that sends so many requests ahead of their answers is cut off. Each is an object until its turn, and all of them end when the
 * client leaves, in one turn of the event loop.
 */
const waitingMax = 8;
/** Of all such requests so many begin in a turn of the event loop: they are a millisecond of it. */
const begunPerTurn = 4;
/** Anything but 0, 1 and 2: the parser stops with an error, which closes the connection (llhttp, `on_headers_complete`). */
const stopParsing = -1;

interface Pipeline {
  isBusy: boolean;
  waiting: (() => void)[];
}

/** What Node has of the parser of a connection; it is not documented. */
interface Parsed {
  parser?: { onIncoming?: (req: IncomingMessage, keepAlive: boolean) => number } | null;
}

/**
 * Requests that a client sends on one connection without waiting for answers (RFC 9112, 9.3.2). They are answered in order anyway, so
 * each begins when the one before it has ended, and few in one turn of the event loop: Node would begin all that arrived together,
 * some hundreds. Shared by all connections of the process, in the order in which those before them ended.
 */
export class Pipelines {
  readonly #ofSockets = new WeakMap<Socket, Pipeline>();
  readonly #due = new FewPerTurn(begunPerTurn);

  /**
   * Has the parser of each connection stop where the client is cut off. Otherwise Node makes an object of all of a thousand short
   * requests that arrive together: 10 ms of the event loop, at every connection anew.
   */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const { parser } = socket as Parsed;
      const read = parser?.onIncoming;
      if (!parser || !read) return;
      parser.onIncoming = (req, keepAlive) => (this.#isCutOff(socket) ? stopParsing : read(req, keepAlive));
    });
  }

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
    } else if (!this.#isCutOff(socket)) pipeline.waiting.push(beginNow);
  }

  #isCutOff(socket: Socket): boolean {
    const waiting = this.#ofSockets.get(socket)?.waiting.length ?? 0;
    if (waiting >= waitingMax) socket.destroy();
    return socket.destroyed;
  }

  #end(pipeline: Pipeline): void {
    const next = pipeline.waiting.shift();
    if (next === undefined) pipeline.isBusy = false;
    else this.#due.add(next);
  }

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#ofSockets.get(socket);
    if (known !== undefined) return known;
    const pipeline = { isBusy: false, waiting: [] };
    this.#ofSockets.set(socket, pipeline);
    return pipeline;
  }
}
