import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../lib/network-of.ts';

/**
 * Number of connections that may be about to send their first request. A process serves some
 * thousand connections a second.
 */
const newMin = 512;
/** A client that has just connected sends its request within this time. */
const newMsMax = 1_000;

interface Connection {
  /** The network of its client. */
  network: string;
  /** Whether it has sent no request yet. */
  isSilent: boolean;
  /** The responses to its requests in progress, in order. Only the first is sent, and only its request is processed. */
  answers: Set<ServerResponse>;
  /** Received when the last response ended. More means that the next request has begun to arrive. */
  bytesAtRest: number;
}

/** In order of arrival. */
type Connections = Map<Socket, Connection>;

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
  readonly #open: Connections = new Map();
  readonly #byNetwork = new Map<string, Connections>();
  #silent = 0;
  #closesIdle = false;

  constructor(connectionsMax: number) {
    this.#max = connectionsMax;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const connection = {
        ...{ network: networkOf(socket.remoteAddress), isSilent: true, answers: new Set<ServerResponse>() },
        bytesAtRest: 0,
      };
      this.#open.set(socket, connection);
      this.#neighborsOf(connection).set(socket, connection);
      this.#silent++;
      socket.once('close', () => this.#forget(socket));
      if (this.#open.size > this.#max) this.#makeRoom(socket);
    });
  }

  /**
   * Counts a request as in progress. Called for every request, also when several arrive together on
   * one connection.
   */
  begin({ socket }: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    if (connection.isSilent) this.#silent--;
    connection.isSilent = false;
    connection.answers.add(res);
    res.once('close', () => {
      connection.answers.delete(res);
      connection.bytesAtRest = socket.bytesRead;
      if (this.#closesIdle && connection.answers.size === 0) socket.end();
    });
  }

  /**
   * Closes connections that are between two requests, those that have sent nothing after a second, and from now on
   * others when they have no request any more.
   */
  closeIdle(): void {
    this.#closesIdle = true;
    for (const [socket, { isSilent, answers, bytesAtRest }] of this.#open) {
      if (!isSilent && answers.size === 0 && socket.bytesRead === bytesAtRest) socket.destroy();
    }
    setTimeout(() => {
      for (const [socket, { isSilent }] of this.#open) if (isSilent && socket.bytesRead === 0) socket.destroy();
    }, newMsMax).unref();
  }

  /** Closes all connections, also those that Node does not know any more because they requested a tunnel. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #neighborsOf({ network }: Connection): Connections {
    const known = this.#byNetwork.get(network);
    if (known !== undefined) return known;
    const neighbors: Connections = new Map();
    this.#byNetwork.set(network, neighbors);
    return neighbors;
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    if (connection.isSilent) this.#silent--;
    this.#open.delete(socket);
    const neighbors = this.#neighborsOf(connection);
    neighbors.delete(socket);
    if (neighbors.size === 0) this.#byNetwork.delete(connection.network);
  }

  #makeRoom(newest: Socket): void {
    let most: Connections = new Map();
    for (const neighbors of this.#byNetwork.values()) if (neighbors.size > most.size) most = neighbors;
    const manySilent = this.#silent > Math.min(newMin, this.#max / 2);
    const oldest =
      (manySilent ? (oldestSilent(most, newest) ?? oldestSilent(this.#open, newest)) : undefined) ??
      oldestWaiting(most, newest) ??
      (most.has(newest) ? undefined : oldestWaiting(this.#open, newest)) ??
      newest;
    this.#forget(oldest);
    oldest.destroy();
  }
}

type Matches = (connection: Connection) => boolean;
const isIdle: Matches = ({ isSilent, answers }) => !isSilent && answers.size === 0;
const isUnread: Matches = ({ isSilent, answers: [current] }) => !isSilent && (current?.writableEnded ?? true);

function first(connections: Connections, matches: Matches, newest?: Socket): Socket | undefined {
  for (const [socket, connection] of connections) if (socket !== newest && matches(connection)) return socket;
  return undefined;
}

function oldestSilent(connections: Connections, newest: Socket): Socket | undefined {
  return first(connections, ({ isSilent }) => isSilent, newest);
}

function oldestWaiting(connections: Connections, newest: Socket): Socket | undefined {
  return first(connections, isIdle) ?? oldestSilent(connections, newest) ?? first(connections, isUnread);
}
