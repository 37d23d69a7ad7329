import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Number of connections that may be about to send their first request. A process serves some
 * thousand connections a second.
 */
const newMin = 512;

interface Connection {
  address: string;
  /** Whether it has sent no request yet. */
  isSilent: boolean;
  /** The responses to its requests in progress, in order. Only the first is sent, and only its request is processed. */
  answers: Set<ServerResponse>;
}

/**
 * Limits the connections of a process, which all callers share. When there is one too many, the
 * oldest connection that waits for a request is closed, if possible of the address that has most. If more than `newMin` connections (or half
 * the maximum) have never sent a request, it is one of these, because no client needs to stay
 * silent for longer than a moment. Otherwise it is one between two requests, or else one whose client has not read
 * a response that is complete: its next requests wait for that. A connection whose request is processed is never
 * closed; if all have one, the new connection is closed.
 */
export class ConnectionRoom {
  readonly #max: number;
  /** In order of arrival. */
  readonly #open = new Map<Socket, Connection>();
  readonly #ofAddress = new Map<string, number>();
  #silent = 0;
  #closesIdle = false;

  constructor(connectionsMax: number) {
    this.#max = connectionsMax;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      this.#open.set(socket, { address, isSilent: true, answers: new Set() });
      this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? 0) + 1);
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
      if (this.#closesIdle && connection.answers.size === 0) socket.end();
    });
  }

  /** Closes all connections without a request in progress, and the others when they have none any more. */
  closeIdle(): void {
    this.#closesIdle = true;
    for (const [socket, { answers, isSilent }] of this.#open) {
      const hasBegun = isSilent && socket.bytesRead > 0;
      if (answers.size === 0 && !hasBegun) socket.destroy();
    }
  }

  /** Closes all connections, also those that Node does not know any more because they requested a tunnel. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    const { address, isSilent } = connection;
    if (isSilent) this.#silent--;
    this.#open.delete(socket);
    const left = (this.#ofAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
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

  /** Returns the oldest connection that matches, of an address with most connections if there is one. */
  #first(matches: (connection: Connection, socket: Socket) => boolean): Socket | undefined {
    const most = Math.max(...this.#ofAddress.values());
    let oldest: Socket | undefined;
    for (const [socket, connection] of this.#open) {
      if (!matches(connection, socket)) continue;
      if (this.#ofAddress.get(connection.address) === most) return socket;
      oldest ??= socket;
    }
    return oldest;
  }
}
