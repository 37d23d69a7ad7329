import { connect, type Socket } from 'node:net';

const headEnd = '\r\n\r\n';

/**
 * One kept-alive HTTP/1.1 connection that sends the same bytes again and again and reads no more of an answer than its status and
 * length: a client that costs the machine a fraction of what it measures. Answers must have Content-Length, or no content.
 */
export class KeepAliveConnection {
  readonly #socket: Socket;
  #head: Buffer = Buffer.alloc(0);
  #status: string | undefined;
  /** Of the content, once the head has been read. */
  #bytesLeft = 0;
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
    if (this.#status === undefined) this.#readHead(chunk);
    else this.#bytesLeft -= chunk.length;
    if (this.#status === undefined || this.#bytesLeft > 0) return;
    const status = this.#status;
    this.#status = undefined;
    this.#settle?.resolve(status);
  }

  #readHead(chunk: Buffer): void {
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const headLength = this.#head.indexOf(headEnd);
    if (headLength < 0) return;
    const head = this.#head.toString('latin1', 0, headLength);
    this.#status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    const contentLength = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.#bytesLeft = contentLength - (this.#head.length - headLength - headEnd.length);
    this.#head = Buffer.alloc(0);
  }
}
