import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { FewPerTurn } from '../lib/few-per-turn.ts';
import { Bag } from '../runtime/bag.ts';
import { addAcceptHandles } from './accept-handles.ts';
import { refuseConnection, refuseSlowBody, refuseTunnel } from './connection-errors.ts';
import { ConnectionRoom } from './connection-room.ts';
import { messageClassesFor } from './message-classes.ts';
import { Pipelines } from './pipelines.ts';
import { type ArrivalLimits, arrivalLimits, watchSlowBodies } from './slow-bodies.ts';

export interface RunningServer {
  port: number;
  /** Stops accepting, closes idle connections, lets running requests finish for at most `drainMs`, then cuts them off. */
  close(drainMs: number): Promise<void>;
}

/**
 * Serves an application. Timeouts of R-LIM-6, so that slow clients do not hold connections for ever. Its connections are shared by
 * all who call, see {@link ConnectionRoom}.
 * @throws Error with a clear message when the port is taken.
 */
export async function listen({
  app,
  port,
  host,
  arrival = arrivalLimits,
  acceptHandles = 1,
  connectionsMax = 8_192,
}: {
  app: RequestListener;
  port: number;
  host: string;
  arrival?: ArrivalLimits;
  /** How many new connections a turn of the event loop may take. */
  acceptHandles?: number;
  /** Of this process; each is a file descriptor and some kilobytes. */
  connectionsMax?: number;
}): Promise<RunningServer> {
  const running = new Bag<ServerResponse>();
  let draining = false;
  const pipelines = new Pipelines();
  const refusals = new FewPerTurn(refusalsPerTurn);
  const room = new ConnectionRoom(connectionsMax);
  const serve = (req: IncomingMessage, res: ServerResponse) => {
    room.begin(req, res);
    pipelines.serve(res, () => {
      res.once('close', running.add(res));
      req.url = originForm(req.url ?? '/');
      if (draining) res.setHeader('Connection', 'close');
      app(req, res);
    });
  };
  const server = createServer({ ...options, ...messageClassesFor(app) }, serve);
  server.timeout = silenceMsMax;
  room.watch(server);
  pipelines.watch(server);
  const endWatch = watchSlowBodies(running, arrival, refuseSlowBody);
  // Node would answer these by itself, in one bare line: an expectation it does not know, a broken request, a tunnel.
  server.on('checkExpectation', serve);
  server.on('checkContinue', (req, res) => {
    continueOnceRead(req, res);
    serve(req, res);
  });
  server.on('clientError', (error, socket) => {
    const refuse = () => {
      const answering = running.items().some((res) => res.req.socket === socket && res.headersSent);
      refuseConnection(error, socket, answering);
    };
    // Node finds all that are over their time at once.
    if ('code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refusals.add(refuse);
    else refuse();
  });
  server.on('connect', (_req, socket) => refuseTunnel(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(explain(cause, host, port)));
    server.listen({ port, host }, resolve);
  });
  const added = await addAcceptHandles(server, acceptHandles - 1);

  const close = async (drainMs: number) => {
    draining = true;
    const closed = Promise.all([server, ...added].map((each) => new Promise((resolve) => each.close(resolve))));
    for (const res of running.items()) if (!res.headersSent) res.setHeader('Connection', 'close');
    server.closeIdleConnections();
    const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
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

/** Two milliseconds of the event loop. */
const refusalsPerTurn = 32;
/** No byte in either direction for so long: a client that reads no answer is cut off, and what it has not read is freed. */
const silenceMsMax = 60_000;

const options = {
  /** The application refuses a request without it, in its own words. */
  requireHostHeader: false,
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  /** How often Node looks for connections over their time; its default of 30 s would stretch the bounds. */
  connectionsCheckingInterval: 5_000,
};

/** Who asks before sending a body (RFC 9110, 10.1.1) is told to go on when somebody reads it; who is refused before sends nothing. */
function continueOnceRead(req: IncomingMessage, res: ServerResponse): void {
  const onListener = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    req.off('newListener', onListener);
    if (!res.headersSent) res.writeContinue();
  };
  req.on('newListener', onListener);
}

/**
 * A request target as a path with its query. It may be a whole URL, which servers must take (RFC 9112, 3.2.2); whose authority it
 * names makes no difference here. A fragment is no part of a target.
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
    return new Error(`Port ${port} on ${host} is taken by another process; choose another with PORT`, { cause });
  }
  return cause;
}
