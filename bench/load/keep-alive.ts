import { connect, type Socket } from 'node:net';

const headEnd = '\r\n\r\n';
const answerTimeoutMs = 60_000;

/** The parts of a response that a counting client reads. */
export interface Answer {
  /** The HTTP status. */
  status: string;
  /** 0 if the response has no Retry-After. */
  retryAfterMs: number;
}

/**
 * One HTTP/1.1 connection with keep-alive. Of a response it reads only the status, Retry-After and
 * the length, so that the client uses little processor time. Responses must have Content-Length, or
 * no content.
 */
export class KeepAliveConnection {
  readonly #socket: Socket;
  #head: Buffer = Buffer.alloc(0);
  #answer: Answer | undefined;
  /** Remaining bytes of the content, after the head has been read. */
  #bytesLeft = 0;
  #settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;
  #usable = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('The server closed the connection')));
    socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error(`no answer in ${answerTimeoutMs / 1_000} s`)));
  }

  static open(url: string): Promise<KeepAliveConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname.replace(/[[\]]/g, ''), port: Number(port), noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new KeepAliveConnection(socket)));
    });
  }

  /** Returns whether another request can be sent. */
  get usable(): boolean {
    return this.#usable;
  }

  /** Sends the parts of one request. Rejects if the connection breaks. */
  send(...pieces: (string | Buffer)[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.cork();
      for (const piece of pieces) this.#socket.write(piece, 'latin1');
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#usable = false;
    this.#settle?.reject(error);
  }

  #take(chunk: Buffer): void {
    if (this.#answer === undefined) this.#readHead(chunk);
    else this.#bytesLeft -= chunk.length;
    if (this.#answer === undefined || this.#bytesLeft > 0) return;
    const answer = this.#answer;
    const settle = this.#settle;
    this.#answer = undefined;
    this.#settle = undefined;
    settle?.resolve(answer);
  }

  #readHead(chunk: Buffer): void {
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const headLength = this.#head.indexOf(headEnd);
    if (headLength < 0) return;
    const head = this.#head.toString('latin1', 0, headLength);
    this.#answer = {
      status: head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length),
      retryAfterMs: Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? 0) * 1_000,
    };
    if (/\r\nconnection: close/i.test(head)) this.#usable = false;
    const contentLength = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.#bytesLeft = contentLength - (this.#head.length - headLength - headEnd.length);
    this.#head = Buffer.alloc(0);
  }
}
