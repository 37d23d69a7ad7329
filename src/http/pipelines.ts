import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FairTurns } from '../lib/fair-turns.ts';
import { FewPerTurn } from '../lib/few-per-turn.ts';
import { networkOf } from '../lib/network-of.ts';
import { noteReadCost } from './read-turns.ts';

/**
 * A client that sends more than this many requests ahead of their responses is disconnected. Each
 * waiting request is an object, and when the client leaves all of them end in one turn of the event
 * loop.
 */
const waitingMax = 4;
/**
 * Number of waiting requests that begin in one turn of the event loop. They take about a
 * millisecond of it.
 */
const begunPerTurn = 4;
/** Milliseconds of a turn in which requests begin that wait for no other of their connection. */
const begunMsPerTurn = 5;
/**
 * Makes the parser stop with an error, which closes the connection (llhttp, `on_headers_complete`).
 * Any value except 0, 1 and 2 does so.
 */
const stopParsing = -1;

/** Header lines of a usual request. The cost of more is noted: Node takes so long for a short one. */
const usualLines = 64;
const msPerLine = 0.0003;

interface Pipeline {
  /** The network of the client. */
  network: string;
  isBusy: boolean;
  /** Whether the next request begins in a later turn. */
  isDue: boolean;
  waiting: (() => void)[];
}

/** The parser that Node attaches to a connection. It is not documented. */
interface Parsed {
  parser?: { onIncoming?: (req: IncomingMessage, keepAlive: boolean) => number } | null;
}

/**
 * Orders requests that a client sends on one connection without waiting for responses (RFC 9112,
 * 9.3.2). Responses must be in order, so each request begins when the one before it has ended, and
 * only a few begin per turn of the event loop: Node would begin hundreds together if they arrived
 * together. Shared by all connections of the process: the first requests in turn between networks, the others in the
 * order in which the earlier requests ended.
 */
export class Pipelines {
  readonly #ofSockets = new WeakMap<Socket, Pipeline>();
  readonly #due = new FewPerTurn(begunPerTurn);
  readonly #first = new FairTurns(begunMsPerTurn);

  /**
   * Stops the parser of a connection whose client sends too far ahead. Otherwise Node would create
   * objects for a thousand short requests that arrive together, which takes 10 ms of the event loop
   * for every new connection.
   */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const { parser } = socket as Parsed;
      const read = parser?.onIncoming;
      if (!parser || !read) return;
      parser.onIncoming = (req, keepAlive) => {
        const lines = req.rawHeaders.length / 2;
        if (lines > usualLines) noteReadCost(socket, lines * msPerLine);
        return this.#isCutOff(socket) ? stopParsing : read(req, keepAlive);
      };
    });
  }

  /**
   * Begins a request in its turn, or never if its connection closes or is refused first. All that arrived together is
   * parsed before the first one begins, so none of a client that is cut off at once does. (`process.nextTick` is too
   * early: Node runs it when a part of a body was parsed.)
   */
  serve(res: ServerResponse, begin: () => void): void {
    const { socket } = res.req;
    const pipeline = this.#pipelineOf(socket);
    const beginNow = () => {
      if (!socket.writable) return;
      res.once('close', () => this.#end(pipeline));
      begin();
    };
    if (!pipeline.isBusy) {
      pipeline.isBusy = true;
      this.#first.add(pipeline.network, beginNow);
    } else if (!this.#isCutOff(socket)) pipeline.waiting.push(beginNow);
  }

  /** Does work after the requests that arrived on the connection have begun. */
  after(socket: Socket, work: () => void): void {
    const { isDue, network } = this.#pipelineOf(socket);
    if (isDue) this.#due.add(work);
    else this.#first.add(network, work);
  }

  #isCutOff(socket: Socket): boolean {
    const waiting = this.#ofSockets.get(socket)?.waiting.length ?? 0;
    if (waiting >= waitingMax) socket.destroy();
    return socket.destroyed;
  }

  #end(pipeline: Pipeline): void {
    const next = pipeline.waiting.shift();
    if (next === undefined) {
      pipeline.isBusy = false;
      return;
    }
    pipeline.isDue = true;
    this.#due.add(() => {
      pipeline.isDue = false;
      next();
    });
  }

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#ofSockets.get(socket);
    if (known !== undefined) return known;
    const network = networkOf(socket.remoteAddress);
    const pipeline = { network, isBusy: false, isDue: false, waiting: [] };
    this.#ofSockets.set(socket, pipeline);
    return pipeline;
  }
}
