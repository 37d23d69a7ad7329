import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FewPerTurn } from '../lib/few-per-turn.ts';
import { Bag } from '../runtime/bag.ts';
import { addAcceptHandles } from './accept-handles.ts';
import { refuseConnection, refuseSlowBody, refuseTunnel } from './connection-errors.ts';
import { ConnectionRoom } from './connection-room.ts';
import type { Headers } from './contract.ts';
import { messageClassesFor } from './message-classes.ts';
import { Pipelines } from './pipelines.ts';
import { isUnread, ReadTurns } from './read-turns.ts';
import { type ArrivalLimits, arrivalLimits, refusalsPerTurn, watchSlowBodies } from './slow-bodies.ts';

export interface RunningServer {
  port: number;
  /**
   * Stops accepting, closes idle connections, and lets running requests finish for at most
   * `drainMs` before it disconnects them.
   */
  close(drainMs: number): Promise<void>;
}

/**
 * Serves an application over HTTP. Timeouts keep slow clients from holding connections forever. All
 * callers share its connections, see {@link ConnectionRoom}.
 * @throws Error with a clear message when the port is in use
 */
export async function listen({
  app,
  port,
  host,
  arrival = arrivalLimits,
  acceptHandles = 1,
  connectionsMax = 8_192,
  headers,
}: {
  app: RequestListener;
  port: number;
  host: string;
  arrival?: ArrivalLimits;
  /** How many new connections one turn of the event loop may accept. */
  acceptHandles?: number;
  /** Maximum connections of this process. Each is a file descriptor and some kilobytes. */
  connectionsMax?: number;
  /** Returns the headers of responses to what never became a request, see `createApp`. */
  headers?: () => Headers;
}): Promise<RunningServer> {
  const running = new Bag<ServerResponse>();
  let draining = false;
  const pipelines = new Pipelines();
  const refusals = new FewPerTurn(refusalsPerTurn);
  const room = new ConnectionRoom(connectionsMax);
  const faulty = new WeakSet<Duplex>();
  const serve = (req: IncomingMessage, res: ServerResponse) => {
    room.begin(req, res);
    pipelines.serve(res, () => {
      res.once('close', running.add(res));
      // What is written after the end, which no one reads, must not end the process.
      res.on('error', () => undefined);
      req.url = originForm(req.url ?? '/');
      if (draining) res.setHeader('Connection', 'close');
      app(req, res);
    });
  };
  const currentOf = (socket: Duplex) => running.items().find((res) => res.req.socket === socket);
  const server = createServer({ ...options, ...messageClassesFor(app) }, serve);
  server.timeout = silenceMsMax;
  room.watch(server);
  new ReadTurns().watch(server);
  // Node's own, which `close` calls, would also close a connection whose answer is complete but not sent.
  server.closeIdleConnections = () => room.closeIdle();
  pipelines.watch(server);
  const endWatch = watchSlowBodies(running, arrival, refuseSlowBody);
  // Node would answer these itself with a bare status line: an unknown expectation, a malformed
  // request, a CONNECT.
  server.on('checkExpectation', serve);
  server.on('checkContinue', (req, res) => {
    continueOnceRead(req, res);
    serve(req, res);
  });
  server.on('clientError', (error, socket) => {
    const refuse = () => refuseConnection(error, socket, currentOf(socket), headers?.());
    // Node finds all timed-out requests together.
    if ('code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      if (!isUnread(socket as Socket)) refusals.add(refuse);
      return;
    }
    // What follows a fault is one again.
    if (faulty.has(socket)) return;
    faulty.add(socket);
    // A request that arrived together with the fault has begun then.
    pipelines.after(socket as Socket, refuse);
  });
  server.on('connect', ({ socket }) => refuseTunnel(socket, currentOf(socket), headers?.()));
  await new Promise<void>((resolve, reject) => {
    // The listener stays: a connection that cannot be accepted, because there is no memory or file descriptor, must not
    // end the process.
    server.on('error', (cause: NodeJS.ErrnoException) => reject(explain(cause, host, port)));
    server.listen({ port, host }, resolve);
  });
  const added = await addAcceptHandles(server, acceptHandles - 1);

  const close = async (drainMs: number) => {
    draining = true;
    const closed = Promise.all([server, ...added].map((each) => new Promise((resolve) => each.close(resolve))));
    for (const res of running.items()) if (!res.headersSent) res.setHeader('Connection', 'close');
    const cutOff = setTimeout(() => room.closeAll(), drainMs);
    await closed;
    clearTimeout(cutOff);
    endWatch();
  };
  let closing: Promise<void> | undefined;
  return {
    port: boundPort(server.address()),
    close(drainMs) {
      closing ??= close(drainMs);
      return closing;
    },
  };
}

/**
 * Longest time without a byte in either direction. After it, a client that does not read its
 * response is disconnected, and the unread bytes are freed.
 */
const silenceMsMax = 60_000;

const options = {
  /** The application refuses a request without Host itself, with a problem response. */
  requireHostHeader: false,
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  /** For headers and body. `watchSlowBodies` refuses bodies that are too slow earlier. */
  requestTimeout: 600_000,
  keepAliveTimeout: 65_000,
  /**
   * How often Node looks for timed-out connections. Its default of 30 s would exceed the timeouts.
   */
  connectionsCheckingInterval: 5_000,
};

/**
 * Sends 100 Continue when the body is first read (RFC 9110, 10.1.1). A client that is refused
 * before that sends no body.
 */
function continueOnceRead(req: IncomingMessage, res: ServerResponse): void {
  const onListener = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    req.off('newListener', onListener);
    if (!res.headersSent) res.writeContinue();
  };
  req.on('newListener', onListener);
}

/**
 * Returns the request target as a path with its query. Servers must accept an absolute URL (RFC
 * 9112, 3.2.2); its authority is ignored. A fragment is not part of a target and is removed.
 */
function originForm(target: string): string {
  const [url = ''] = target.split('#', 1);
  const absolute = /^[a-z][a-z\d+.-]*:\/\/[^/?]*(.*)$/i.exec(url);
  if (absolute === null) return url;
  const [, rest = ''] = absolute;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function boundPort(address: ReturnType<ReturnType<typeof createServer>['address']>): number {
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('The server listens on no TCP port');
}

function explain(cause: NodeJS.ErrnoException, host: string, port: number): Error {
  if (cause.code === 'EADDRINUSE') {
    return new Error(`Port ${port} on ${host} is used by another process. Set PORT to another port`, { cause });
  }
  return cause;
}
