import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../lib/network-of.ts';
import { isUnread } from './read-turns.ts';

/**
 * Number of connections that may be about to send their first request. A process serves some
 * thousand connections a second.
 */
const newMin = 512;
/** A client that has just connected sends its request within this time. */
const newMsMax = 1_000;
/**
 * If no client has left a response unread, that is not looked for again for so long: it takes up to two
 * milliseconds for 8,192 connections, and a client connects some thousand times a second.
 */
const allReadMs = 50;

/** `silent`: has sent no request yet. `idle`: between two requests. */
type State = 'silent' | 'idle' | 'busy';

interface Connection {
  /** The network of its client. */
  network: string;
  state: State;
  /** The responses to its requests in progress, in order. Only the first is sent, and only its request is processed. */
  answers: Set<ServerResponse>;
  /** Received when the last response ended. More means that the next request has begun to arrive. */
  bytesAtRest: number;
}

/** Connections by state, each in the order in which they came to it. */
class Crowd implements Record<State, Set<Socket>> {
  readonly silent = new Set<Socket>();
  readonly idle = new Set<Socket>();
  readonly busy = new Set<Socket>();
  size = 0;
  /** Until then, responses that are not read are not looked for. */
  allReadUntilMs = 0;
}

/**
 * Limits the connections of a process, which all callers share. When there is one too many, the oldest connection that
 * waits for a request is closed. It is one of the network that has most connections. Only if the new connection is of
 * another network, and that one has none that waits, it is one of any network.
 *
 * If more than `newMin` connections (or half the maximum) have never sent a request, it is one of these, of any network,
 * because no client needs to stay silent for longer than a moment. Otherwise it is one between two requests, or else one whose
 * client has not read a response that is complete: its next requests wait for that. A connection whose request is
 * processed is never closed. If there is none to close, the new connection is closed.
 */
export class ConnectionRoom {
  readonly #max: number;
  readonly #open = new Map<Socket, Connection>();
  readonly #all = new Crowd();
  readonly #byNetwork = new Map<string, Crowd>();
  #closesIdle = false;

  constructor(connectionsMax: number) {
    this.#max = connectionsMax;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const network = networkOf(socket.remoteAddress);
      const connection: Connection = { network, state: 'silent', answers: new Set(), bytesAtRest: 0 };
      this.#open.set(socket, connection);
      for (const crowd of this.#crowdsOf(connection)) {
        crowd.silent.add(socket);
        crowd.size++;
      }
      socket.once('close', () => this.#forget(socket));
      if (this.#open.size > this.#max) this.#makeRoom(socket, connection);
    });
  }

  /**
   * Counts a request as in progress. Called for every request, also when several arrive together on
   * one connection.
   */
  begin({ socket }: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#move(socket, connection, 'busy');
    connection.answers.add(res);
    res.once('close', () => {
      connection.answers.delete(res);
      connection.bytesAtRest = socket.bytesRead;
      if (connection.answers.size > 0) return;
      if (this.#open.has(socket)) this.#move(socket, connection, 'idle');
      if (this.#closesIdle) socket.end();
    });
  }

  /**
   * Closes connections that are between two requests, those that have sent nothing or were not read after a second, and
   * from now on others when they have no request any more.
   */
  closeIdle(): void {
    this.#closesIdle = true;
    this.#closeAtRest((socket) => !isUnread(socket));
    setTimeout(() => {
      this.#closeAtRest(() => true);
      for (const socket of this.#all.silent) if (socket.bytesRead === 0) socket.destroy();
    }, newMsMax).unref();
  }

  #closeAtRest(isMeant: (socket: Socket) => boolean): void {
    for (const socket of this.#all.idle) {
      if (isMeant(socket) && socket.bytesRead === this.#open.get(socket)?.bytesAtRest) socket.destroy();
    }
  }

  /** Closes all connections, also those that Node does not know any more because they requested a tunnel. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #crowdsOf({ network }: Connection): [Crowd, Crowd] {
    let ofNetwork = this.#byNetwork.get(network);
    if (ofNetwork === undefined) {
      ofNetwork = new Crowd();
      this.#byNetwork.set(network, ofNetwork);
    }
    return [this.#all, ofNetwork];
  }

  #move(socket: Socket, connection: Connection, state: State): void {
    if (connection.state === state) return;
    for (const crowd of this.#crowdsOf(connection)) {
      crowd[connection.state].delete(socket);
      crowd[state].add(socket);
    }
    connection.state = state;
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#open.delete(socket);
    for (const crowd of this.#crowdsOf(connection)) {
      crowd[connection.state].delete(socket);
      if (--crowd.size === 0 && crowd !== this.#all) this.#byNetwork.delete(connection.network);
    }
  }

  #makeRoom(newest: Socket, { network }: Connection): void {
    const closed = this.#oldestToClose(newest, network) ?? newest;
    this.#forget(closed);
    closed.destroy();
  }

  #oldestToClose(newest: Socket, network: string): Socket | undefined {
    let most = this.#all;
    let mostSize = 0;
    for (const crowd of this.#byNetwork.values()) {
      if (crowd.size > mostSize) {
        most = crowd;
        mostSize = crowd.size;
      }
    }
    const isOfMost = most === this.#byNetwork.get(network);
    const manySilent = this.#all.silent.size > Math.min(newMin, this.#max / 2);
    return (
      (manySilent ? (oldestSilent(most, newest) ?? oldestSilent(this.#all, newest)) : undefined) ??
      this.#oldestWaiting(most, newest) ??
      (isOfMost ? undefined : this.#oldestWaiting(this.#all, newest))
    );
  }

  #oldestWaiting(crowd: Crowd, newest: Socket): Socket | undefined {
    const [idle] = crowd.idle;
    return idle ?? oldestSilent(crowd, newest) ?? this.#oldestUnread(crowd);
  }

  #oldestUnread(crowd: Crowd): Socket | undefined {
    if (performance.now() < crowd.allReadUntilMs) return undefined;
    for (const socket of crowd.busy) {
      const [current] = this.#open.get(socket)?.answers ?? [];
      if (current?.writableEnded) return socket;
    }
    crowd.allReadUntilMs = performance.now() + allReadMs;
    return undefined;
  }
}

function oldestSilent({ silent }: Crowd, newest: Socket): Socket | undefined {
  for (const socket of silent) if (socket !== newest) return socket;
  return undefined;
}
