import { EventEmitter, once } from 'node:events';
import { Agent, createServer, get, IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ConnectionRoom } from '../../../src/http/connection-room.ts';
import { listen, type RunningServer } from '../../../src/http/server.ts';
import { oneTurn } from '../../../src/lib/pace.ts';
import { until } from '../../support/until.ts';

const started: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close(0)));
});
async function start(app: Parameters<typeof listen>[0]['app']) {
  const server = await listen({ app, port: 0, host: '127.0.0.1' });
  started.push(server);
  return server;
}
/** A promise and the function that settles it. */
function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('listen', () => {
  test('on a taken port is one clear error', async () => {
    const first = await start((_req, res) => res.end());
    await expect(listen({ app: () => {}, port: first.port, host: '127.0.0.1' })).rejects.toThrow(
      `Port ${first.port} on 127.0.0.1 is used by another process`,
    );
  });
});

test('five hundred connections that never end their request hold up nobody else', async () => {
  const server = await start((_req, res) => res.end('ok'));
  const slow = await Promise.all(
    Array.from({ length: 500 }, async () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined); // They are cut off at the end.
      await once(socket, 'connect');
      socket.write('GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ');
      return socket;
    }),
  );
  const startedAtMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${server.port}/`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(performance.now() - startedAtMs).toBeLessThan(4_000);
  for (const socket of slow) socket.destroy();
});

describe('a server with several handles of its socket', () => {
  const connections = 64;

  /** How many turns of the event loop it takes until as many new connections are answered. */
  async function turnsToAnswer(acceptHandles: number): Promise<number> {
    const server = await listen({ app: (_req, res) => void res.end('ok'), port: 0, host: '127.0.0.1', acceptHandles });
    started.push(server);
    let turns = 0;
    const next = () => {
      turns++;
      count = setImmediate(next);
    };
    let count = setImmediate(next);
    await Promise.all(
      Array.from({ length: connections }, async () => {
        const [response] = await once(get({ port: server.port, agent: false }), 'response');
        expect(response.statusCode).toBe(200);
        await once(response.resume(), 'end');
      }),
    );
    clearImmediate(count);
    return turns;
  }

  test('takes several new connections in a turn of the event loop, of which one handle takes one', async () => {
    expect(await turnsToAnswer(1)).toBeGreaterThan(connections);
    expect(await turnsToAnswer(16)).toBeLessThan(connections / 2);
  });

  test('refuses new connections on all of them while it drains', async () => {
    const server = await listen({
      app: (_req, res) => void res.end('ok'),
      port: 0,
      host: '127.0.0.1',
      acceptHandles: 4,
    });
    await server.close(0);
    await expect(once(get({ port: server.port, agent: false }), 'response')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('one connection too many', () => {
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

  /**
   * A server with room for a few connections; `open` resolves once what was sent is answered, or at
   * once if nothing was.
   */
  async function startSmall(connectionsMax: number) {
    const bounds = { acceptHandles: 4, connectionsMax };
    const held: ServerResponse[] = [];
    const app: RequestListener = (req, res) => void (req.url === '/held' ? held.push(res) : res.end('ok'));
    const server = await listen({ app, port: 0, host: '127.0.0.1', ...bounds });
    started.push(server);
    const open = async (sent: string, localAddress = '127.0.0.1') => {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined); // It may be cut off.
      const closed = once(socket, 'close').then(() => false);
      await once(socket, 'connect');
      socket.write(sent);
      const answered =
        sent === request ? await Promise.race([once(socket, 'data').then(() => true), closed]) : undefined;
      return { socket, closed, answered };
    };
    return {
      open,
      held,
      untilHeld: (count: number) => until('requests are under way', 5_000, () => held.length === count),
    };
  }

  test('closes the one that has waited longest between two requests', async () => {
    const { open } = await startSmall(2);
    const idle = [await open(request), await open(request)];
    expect((await open(request)).answered).toBe(true);
    await idle[0]?.closed;
    expect(idle.map(({ socket }) => socket.closed)).toEqual([true, false]);
  });

  test('closes one of the network that has most', async () => {
    const { open } = await startSmall(3);
    const honest = await open(request, '127.0.0.2');
    const busy = [await open(request), await open(request)];
    expect((await open(request)).answered).toBe(true);
    await busy[0]?.closed;
    expect(honest.socket.closed).toBe(false);
  });

  test('closes one that has sent nothing rather than one that has', async () => {
    const { open } = await startSmall(4);
    const used = await open(request);
    const silent = [await open(''), await open('GET / HT'), await open('')];
    for (let more = 0; more < 2; more++) expect((await open(request)).answered).toBe(true);
    await silent[0]?.closed;
    expect(used.socket.closed).toBe(false);
  });

  test('is closed itself when the requests of all others are under way', async () => {
    const { open, held, untilHeld } = await startSmall(2);
    const busy = [
      await open('GET /held HTTP/1.1\r\nHost: x\r\n\r\n'),
      await open('GET /held HTTP/1.1\r\nHost: x\r\n\r\n'),
    ];
    await untilHeld(2);
    expect((await open(request)).answered).toBe(false);
    const ended = busy.map(({ socket }) => once(socket, 'data'));
    for (const res of held) res.end('late');
    await Promise.all(ended);
    expect((await open(request)).answered).toBe(true);
  });
});

test('of ten thousand connections too many of one network, few look through all others', () => {
  const room = new ConnectionRoom(4_096);
  const server = createServer();
  room.watch(server);
  let looked = 0;
  const res = new EventEmitter();
  Object.defineProperty(res, 'writableEnded', {
    get() {
      looked++;
      return false;
    },
  });
  res.setMaxListeners(0);
  const open = () => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress: '10.0.0.1', destroyed: false, destroy() {} });
    server.emit('connection', socket);
    return socket;
  };
  for (let count = 0; count < 4_096; count++) {
    room.begin({ socket: open() } as unknown as IncomingMessage, res as unknown as ServerResponse);
  }
  const beganMs = performance.now();
  for (let count = 0; count < 10_000; count++) open();
  const looksMax = Math.ceil((performance.now() - beganMs) / 50) + 1;
  expect(looked).toBeLessThanOrEqual(4_096 * looksMax);
  expect(looked).toBeGreaterThan(0);
});

describe('one connection too many, while the clients of all others do not read', () => {
  const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  test.each([
    ['and nothing waits for', head('/large')],
    ['and a further request waits for', head('/large') + head('/')],
  ])('closes the oldest of those with a response that is complete, %s', async (_what, unread) => {
    const app: RequestListener = (req, res) =>
      void res.end(req.url === '/large' ? Buffer.alloc(32 * 1024 * 1024) : 'ok');
    const server = await listen({ app, port: 0, host: '127.0.0.1', acceptHandles: 4, connectionsMax: 2 });
    started.push(server);
    const open = async (sent: string) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined); // It may be cut off.
      socket.write(sent);
      await once(socket, 'readable');
      return socket;
    };
    const [first, second] = [await open(unread), await open(unread)];
    const third = await open(head('/'));
    expect(String(third.read())).toContain('200 OK');
    first.resume();
    await once(first, 'close');
    expect(second.closed).toBe(false);
    for (const socket of [second, third]) socket.destroy();
  });
});

describe('requests that are sent together on one connection', () => {
  /** Sends a text at once and reads until the connection ends. */
  async function sendAtOnce(port: number, sent: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined); // It may be cut off.
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.write(sent);
    await once(socket, 'close');
    return text;
  }

  /** Sends as many at once; the paths that were answered, in order. */
  async function sendTogether(port: number, count: number, request = 'GET', body = ''): Promise<string[]> {
    const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
    const last = (index: number) => (index === count - 1 ? 'Connection: close\r\n' : '');
    const requests = Array.from(
      { length: count },
      (_, i) => `${request} /${i} HTTP/1.1\r\nHost: x\r\n${length}${last(i)}\r\n${body}`,
    );
    const text = await sendAtOnce(port, requests.join(''));
    return text.match(/(?<=^path=).*$/gm) ?? [];
  }

  test('are answered one after the other, while others are answered in between', async () => {
    let answered = 0;
    const server = await start((req, res) => {
      const untilMs = performance.now() + 10;
      while (performance.now() < untilMs) if (req.url === '/other') break;
      answered++;
      res.end(`path=${req.url}\n`);
    });
    const url = `http://127.0.0.1:${server.port}/other`;
    await fetch(url);
    answered = 0;
    const together = sendTogether(server.port, 5);
    await (await fetch(url)).text();
    expect(answered).toBeLessThan(5);
    expect(await together).toEqual(Array.from({ length: 5 }, (_, index) => `/${index}`));
  });

  test('do not wait for those of another connection', async () => {
    const server = await start((req, res) => {
      const until = performance.now() + 2;
      while (performance.now() < until);
      res.end(`path=${req.url}\n`);
    });
    const ended: string[] = [];
    const many = sendTogether(server.port, 5).then(() => ended.push('five'));
    const few = sendTogether(server.port, 3).then(() => ended.push('three'));
    await Promise.all([many, few]);
    expect(ended).toEqual(['three', 'five']);
  });

  test('begin only when the one before has ended', async () => {
    const [arrived, release] = [latch(), latch()];
    const begun: (string | undefined)[] = [];
    const server = await start(async (req, res) => {
      begun.push(req.url);
      arrived.open();
      await release.opened;
      res.end(`path=${req.url}\n`);
    });
    const together = sendTogether(server.port, 3);
    await arrived.opened;
    await fetch(`http://127.0.0.1:${server.port}/`, { signal: AbortSignal.timeout(100) }).catch(() => undefined);
    expect(begun).toEqual(['/0', '/']);
    release.open();
    expect(await together).toEqual(['/0', '/1', '/2']);
  });

  test.each([
    ['GET', ''],
    ['POST', '{}'],
  ])('are cut off beyond the most that may wait, and none of them begins: %s', async (request, body) => {
    let served = 0;
    const server = await start((_req, res) => {
      served++;
      res.end('path=\n');
    });
    expect(await sendTogether(server.port, 1_000, request, body)).toEqual([]);
    expect(served).toBe(0);
  });

  test('are answered when they are complete and a fault follows; then the connection is closed', async () => {
    const server = await start((req, res) => setImmediate(() => res.end(`path=${req.url}\n`)));
    const text = await sendAtOnce(server.port, 'DELETE /whole HTTP/1.1\r\nHost: x\r\n\r\nno request\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1.1 200 OK/);
    expect(text).toMatch(/path=\/whole\n$/);
    expect(text).toMatch(/^connection: close/im);
  });

  test('are not begun when a tunnel is requested after them', async () => {
    let served = 0;
    const server = await start((_req, res) => {
      served++;
      res.end();
    });
    const text = await sendAtOnce(
      server.port,
      'DELETE / HTTP/1.1\r\nHost: x\r\n\r\nCONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1.1 405 /);
    expect(served).toBe(0);
  });

  test('are refused when the fault is in the body of the first', async () => {
    const server = await start((req, res) => req.on('end', () => res.end('read')).resume());
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    expect(await sendAtOnce(server.port, `${head}1\r\nxno chunk`)).toMatch(/^HTTP\/1.1 400 /);
  });

  test('are not even read beyond them', async () => {
    // Node calls it for each request that it makes an object of.
    const made = vi.spyOn(IncomingMessage.prototype as unknown as { _addHeaderLines(): void }, '_addHeaderLines');
    const server = await start((_req, res) => res.end('path=\n'));
    await sendTogether(server.port, 1_000);
    expect(made.mock.calls.length).toBeLessThan(20);
    made.mockRestore();
  });
});

describe('draining', () => {
  test('lets a running request finish, tells its connection to close and refuses new connections', async () => {
    const [arrived, release] = [latch(), latch()];
    const server = await start(async (_req, res) => {
      arrived.open();
      await release.opened;
      res.end('finished');
    });
    const agent = new Agent({ keepAlive: true });
    const answered = new Promise<IncomingMessage>((resolve) => get({ port: server.port, agent }, resolve));
    await arrived.opened;
    const closed = server.close(10_000);
    const refused = connect(server.port, '127.0.0.1');
    await expect(once(refused, 'connect')).rejects.toThrow('ECONNREFUSED');
    release.open();
    const response = await answered;
    expect(response.headers.connection).toBe('close');
    expect(String(await response.toArray())).toBe('finished');
    await closed;
    agent.destroy();
  });

  test('closes idle keep-alive connections at once', async () => {
    const server = await start((_req, res) => res.end('ok'));
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const ended = once(socket, 'close');
    await server.close(60_000);
    await ended;
  });

  test('sends an answer whole that is complete but not read yet, and then closes its connection', async () => {
    const bytes = 20 * 1024 * 1024;
    const ended = latch();
    const server = await start((_req, res) => {
      res.end(Buffer.alloc(bytes));
      ended.open();
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await ended.opened;
    await oneTurn();
    const closed = server.close(30_000);
    let received = 0;
    for await (const data of socket) received += data.length;
    expect(received).toBeGreaterThan(bytes);
    await closed;
  });

  test('cuts off what does not finish within its time', async () => {
    const arrived = latch();
    const server = await start(() => arrived.open());
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await arrived.opened;
    const ended = once(socket, 'close');
    await server.close(50);
    await ended;
  });
});

describe('a request target', () => {
  test.each([
    ['/things?a=1', '/things?a=1'],
    ['http://host/things?a=1', '/things?a=1'],
    ['https://user:secret@host:8443/things', '/things'],
    ['HTTP://[::1]:80/things?a=http://b', '/things?a=http://b'],
    ['http://host?a=1', '/?a=1'],
    ['http://host', '/'],
    ['http://[::1/things', '/things'],
    ['/things?a=1#part', '/things?a=1'],
    ['/things?a=http://b/c', '/things?a=http://b/c'],
    ['//things', '//things'],
  ])('%s reaches the application as %s', async (target, path) => {
    const server = await start((req, res) => res.end(req.url));
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(String(Buffer.concat(await socket.toArray())).split('\r\n\r\n')[1]).toContain(path);
  });
});

describe('a body that arrives too slowly', () => {
  const arrival = { idleMsMax: 100, graceMs: 300, bytesPerS: 1_000, everyMs: 20 };
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n';

  async function slowServer(app: Parameters<typeof listen>[0]['app']) {
    const server = await listen({ app, port: 0, host: '127.0.0.1', arrival });
    started.push(server);
    return server;
  }

  test.each([
    ['that nobody reads', () => undefined],
    ['that is being read', (req: IncomingMessage) => void req.resume()],
  ])('%s: one that stands still is answered 408, and its connection is closed', async (_name, app) => {
    const server = await slowServer(app);
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`${head}x`);
    expect(String(Buffer.concat(await socket.toArray()))).toMatch(/^HTTP\/1\.1 408 .*No byte of the body/s);
  });

  test('one that crawls is answered 408', async () => {
    const server = await slowServer((req) => void req.resume());
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(head);
    const crawl = setInterval(() => socket.write('x'), 20);
    const answer = String(Buffer.concat(await socket.toArray().finally(() => clearInterval(crawl))));
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*bytes per second/s);
  });

  test('one that waits because its reader is behind is not', async () => {
    const resume = latch();
    const server = await slowServer(async (req, res) => {
      await resume.opened;
      let bytes = 0;
      for await (const chunk of req) bytes += chunk.length;
      res.end(`took ${bytes}`);
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`${head.replace('100000', '10000000')}`);
    socket.write(Buffer.alloc(10_000_000));
    const answer = socket.toArray();
    const reader = setTimeout(resume.open, 10 * arrival.idleMsMax);
    await once(socket, 'data');
    clearTimeout(reader);
    socket.end();
    expect(String(Buffer.concat(await answer))).toContain('took 10000000');
  });
});
