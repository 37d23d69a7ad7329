import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Resolve, sendWebhook } from '../../../src/domains/webhooks/send-webhook.ts';

const servers: Pick<Server, 'close' | 'closeAllConnections'>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, server };
}

async function startProxy(answer = 200) {
  const asked: (string | undefined)[][] = [];
  const { port, server } = await serve(() => undefined);
  server.on('connect', (request, socket) => {
    asked.push([request.url, request.headers['proxy-authorization']]);
    if (answer !== 200) return socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const onward = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return { port, asked };
}

interface Options {
  resolve?: Resolve;
  allowPrivate?: boolean;
  proxyUrl?: string;
  timeoutMs?: number;
}

const send = (url: string, { resolve, allowPrivate = true, proxyUrl, timeoutMs = 2_000 }: Options = {}) =>
  sendWebhook(
    { policy: { allowPrivate, proxyUrl }, resolve: resolve ?? (async () => ['127.0.0.1']), timeoutMs },
    { url, headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
  );

describe('a request', () => {
  test('has the body and headers, and its response is read', async () => {
    const seen: unknown[] = [];
    const { port } = await serve(async (request, response) => {
      const chunks = await request.toArray();
      seen.push(request.method, request.url, request.headers['content-type'], Buffer.concat(chunks).toString());
      response.end('tak\0en');
    });
    const result = await send(`http://127.0.0.1:${port}/hook?x=1#fragment`);
    expect(result).toEqual({ status: 200, body: 'taken', error: null, retryAfterMs: null });
    expect(seen).toEqual(['POST', '/hook?x=1', 'application/json', '{"a":1}']);
  });

  test.each([301, 302, 303, 307, 308])('that is redirected with %i fails and follows nowhere', async (status) => {
    let requests = 0;
    const { port } = await serve((_request, response) => {
      requests++;
      response.writeHead(status, { Location: '/other' }).end();
    });
    const result = await send(`http://127.0.0.1:${port}/`);
    expect(result).toMatchObject({
      status,
      error: `The receiver responded with ${status}; redirects are not followed`,
    });
    expect(requests).toBe(1);
  });

  test('that is not answered ends at its time limit', async () => {
    const { port } = await serve(() => undefined);
    const result = await send(`http://127.0.0.1:${port}/`, { timeoutMs: 100 });
    expect(result).toMatchObject({ status: null, error: 'No response within 0.1 s' });
  });

  test('whose response never ends has its status and what arrived', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200).write('begun');
    });
    expect(await send(`http://127.0.0.1:${port}/`, { timeoutMs: 200 })).toMatchObject({
      ...{ status: 200, error: null, body: 'begun' },
    });
  });

  test('whose response body never ends is over long before the time limit of the attempt', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(503).write('begun');
    });
    expect(await send(`http://127.0.0.1:${port}/`, { timeoutMs: 600_000 })).toMatchObject({
      ...{ status: 503, error: 'The receiver responded with 503', body: 'begun' },
    });
  });

  test('whose response is endless is read up to a limit and keeps 4 KiB', async () => {
    let closed: Promise<unknown> | undefined;
    const { port } = await serve((_request, response) => {
      closed = once(response, 'close');
      const chunk = Buffer.alloc(65_536, 'x');
      const write = () => {
        while (!response.destroyed && response.write(chunk));
        response.once('drain', write);
      };
      write();
    });
    const result = await send(`http://127.0.0.1:${port}/`);
    expect([result.status, result.body]).toEqual([200, 'x'.repeat(4_096)]);
    await closed;
  });

  test('reads Retry-After in seconds and as a date', async () => {
    const header = { value: '7' };
    const { port } = await serve((_request, response) => {
      response.writeHead(503, { 'Retry-After': header.value }).end();
    });
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 503, retryAfterMs: 7_000 });
    header.value = new Date(Date.now() + 60_000).toUTCString();
    expect((await send(`http://127.0.0.1:${port}/`)).retryAfterMs).toBeGreaterThan(50_000);
    header.value = 'soon';
    expect((await send(`http://127.0.0.1:${port}/`)).retryAfterMs).toBeNull();
  });

  test('to a port where nothing listens fails with its reason', async () => {
    const { port, server } = await serve(() => undefined);
    server.close();
    await once(server, 'close');
    expect((await send(`http://127.0.0.1:${port}/`)).error).toMatch(/ECONNREFUSED/);
  });
});

describe.skipIf(spawnSync('openssl', ['version']).status !== 0)('https', () => {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-certificate-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  test('refuses a receiver whose certificate nobody signed, and one of another name, also through a proxy', async () => {
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => join(directory, file)) as [string, string];
    const made = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other.example -keyout ${key} -out ${cert}`;
    execFileSync('openssl', made.split(' '), { stdio: 'ignore' });
    let requests = 0;
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => requests++);
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://receiver.example:${(server.address() as AddressInfo).port}/`;
    const proxy = await startProxy();
    for (const options of [{}, { proxyUrl: `http://127.0.0.1:${proxy.port}` }]) {
      expect(await send(url, options)).toMatchObject({ status: null, error: expect.stringMatching(/certificate/) });
    }
    expect([requests, proxy.asked.length]).toEqual([0, 1]);
  });
});

describe('a name', () => {
  test.each([[['127.0.0.1']], [['1.1.1.1', '10.0.0.1']], [['::1']], [['::ffff:127.0.0.1']], [['169.254.169.254']]])(
    'with the addresses %j is not connected to',
    async (addresses) => {
      const result = await send('https://rebinding.example/', { allowPrivate: false, resolve: async () => addresses });
      expect(result.error).toBe('The name of the host has a private, loopback or reserved address');
    },
  );

  test('without an address fails', async () => {
    const result = await send('https://nowhere.example/', { allowPrivate: false, resolve: async () => [] });
    expect(result.error).toBe('The name of the host has no address');
  });

  test('is resolved once for each request, and the connection goes to that address', async () => {
    let asked = 0;
    let reached = 0;
    const { port } = await serve((_request, response) => {
      reached++;
      response.end();
    });
    const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['192.0.2.1']);
    expect((await send(`http://rebinding.example:${port}/`, { resolve })).status).toBe(200);
    expect([asked, reached]).toEqual([1, 1]);
  });

  test('whose resolution takes too long ends at the time limit', async () => {
    const result = await send('http://slow.example/', { timeoutMs: 100, resolve: () => new Promise(() => undefined) });
    expect(result.error).toBe('No response within 0.1 s');
  });

  test('a private literal is refused without a connection', async () => {
    const { port } = await serve((_request, response) => response.end());
    const result = await send(`https://127.0.0.1:${port}/`, { allowPrivate: false });
    expect(result).toMatchObject({ status: null, error: expect.stringMatching(/^The URL must/) });
  });
});

describe('an egress proxy', () => {
  test('makes the connection, and resolves the name itself', async () => {
    const { port } = await serve((_request, response) => response.end('reached'));
    const proxy = await startProxy();
    const resolve = () => Promise.reject(new Error('must not be asked'));
    const proxyUrl = `http://egress:secret@127.0.0.1:${proxy.port}`;
    expect(await send(`http://receiver.example:${port}/`, { resolve, proxyUrl })).toMatchObject({
      ...{ status: 200, body: 'reached' },
    });
    expect(proxy.asked).toEqual([[`receiver.example:${port}`, `Basic ${btoa('egress:secret')}`]]);
  });

  test('that refuses is the reason of the failure', async () => {
    const proxy = await startProxy(403);
    const result = await send('http://receiver.example/', { proxyUrl: `http://127.0.0.1:${proxy.port}` });
    expect(result).toMatchObject({ status: null, error: 'The egress proxy refused the connection with status 403' });
  });

  test('does not get private literals', async () => {
    const proxy = await startProxy();
    const options = { allowPrivate: false, proxyUrl: `http://127.0.0.1:${proxy.port}` };
    expect((await send('https://169.254.169.254/', options)).error).toMatch(/private/);
    expect(proxy.asked).toEqual([]);
  });
});
