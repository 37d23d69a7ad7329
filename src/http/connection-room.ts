import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Number of connections that may be about to send their first request. A process serves some
 * thousand connections a second.
 */
const newMin = 512;

interface Connection {
  /** Whether it has sent no request yet. */
  isSilent: boolean;
  /** The responses to its requests in progress, in order. Only the first is sent, and only its request is processed. */
  answers: Set<ServerResponse>;
}

/**
 * Limits the connections of a process, which all callers share. When there is one too many, the
 * oldest connection that waits for a request is closed. If more than `newMin` connections (or half
 * the maximum) have never sent a request, it is one of these, because no client needs to stay
 * silent for longer than a moment. Otherwise it is one between two requests, or else one whose client has not read
 * a response that is complete: its next requests wait for that. A connection whose request is processed is never
 * closed; if all have one, the new connection is closed.
 */
export class ConnectionRoom {
  readonly #max: number;
  /** In order of arrival. */
  readonly #open = new Map<Socket, Connection>();
  #silent = 0;

  constructor(connectionsMax: number) {
    this.#max = connectionsMax;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { isSilent: true, answers: new Set() });
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
    res.once('close', () => connection.answers.delete(res));
  }

  /** Closes all connections, also those that Node does not know any more because they requested a tunnel. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #forget(socket: Socket): void {
    if (this.#open.get(socket)?.isSilent) this.#silent--;
    this.#open.delete(socket);
  }

  #makeRoom(newest: Socket): void {
    const isIdle = ({ isSilent, answers }: Connection) => !isSilent && answers.size === 0;
    const isSilent = (connection: Connection, socket: Socket) => connection.isSilent && socket !== newest;
    const isUnread = ({ isSilent, answers: [current] }: Connection) => !isSilent && (current?.writableEnded ?? true);
    const manySilent = this.#silent > Math.min(newMin, this.#max / 2);
    const oldest =
      (manySilent ? undefined : this.#first(isIdle)) ?? this.#first(isSilent) ?? this.#first(isUnread) ?? newest;
    this.#forget(oldest);
    oldest.destroy();
  }

  #first(matches: (connection: Connection, socket: Socket) => boolean): Socket | undefined {
    for (const [socket, connection] of this.#open) if (matches(connection, socket)) return socket;
    return undefined;
  }
}
