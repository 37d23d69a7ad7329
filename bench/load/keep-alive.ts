import { connect, type Socket } from 'node:net';

const headEnd = '\r\n\r\n';

/**
 * One kept-alive HTTP/1.1 connection that sends the same bytes again and again and reads no more of an answer than its status and
 * length: a client that costs the machine a fraction of what it measures. Answers must have Content-Length, or no content.
 */
export class KeepAliveConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #settle: { resolve: (status: string) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('The server closed the connection')));
  }

  static open(url: string): Promise<KeepAliveConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname.replace(/[[\]]/g, ''), port: Number(port), noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new KeepAliveConnection(socket)));
    });
  }

  /** The status of the answer. Rejects when the connection breaks. */
  send(request: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headLength = this.#received.indexOf(headEnd);
    if (headLength < 0) return;
    const head = this.#received.toString('latin1', 0, headLength);
    const contentLength = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < headLength + headEnd.length + contentLength) return;
    this.#received = Buffer.alloc(0);
    this.#settle?.resolve(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  }
}
