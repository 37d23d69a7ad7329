import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** So many new connections may be about to send their first request at any moment; a process serves some thousand a second. */
const newMin = 512;

interface Connection {
  /** Whether it has sent no request yet. */
  isSilent: boolean;
  /** How many of its requests are under way. */
  underWay: number;
}

/**
 * The connections of a process, which all who call share. When there is one too many, the oldest that waits for a request is closed:
 * first of those that never sent one, which a client has no reason to hold for longer than a moment, then of those between two
 * requests. A connection whose request is under way is never closed; when all are so, the new one is.
 */
export class ConnectionRoom {
  readonly #max: number;
  /** In the order of their arrival. */
  readonly #open = new Map<Socket, Connection>();
  #silent = 0;

  constructor(connectionsMax: number) {
    this.#max = connectionsMax;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { isSilent: true, underWay: 0 });
      this.#silent++;
      socket.once('close', () => this.#forget(socket));
      if (this.#open.size > this.#max) this.#makeRoom(socket);
    });
  }

  /** Called for every request, however many arrive ahead on one connection. */
  begin({ socket }: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    if (connection.isSilent) this.#silent--;
    connection.isSilent = false;
    connection.underWay++;
    res.once('close', () => connection.underWay--);
  }

  #forget(socket: Socket): void {
    if (this.#open.get(socket)?.isSilent) this.#silent--;
    this.#open.delete(socket);
  }

  #makeRoom(newest: Socket): void {
    const isIdle = ({ isSilent, underWay }: Connection) => !isSilent && underWay === 0;
    const manySilent = this.#silent > Math.min(newMin, this.#max / 2);
    const oldest = (manySilent ? undefined : this.#first(isIdle)) ?? this.#first(({ isSilent }) => isSilent) ?? newest;
    this.#forget(oldest);
    oldest.destroy();
  }

  #first(matches: (connection: Connection) => boolean): Socket | undefined {
    for (const [socket, connection] of this.#open) if (matches(connection)) return socket;
    return undefined;
  }
}
