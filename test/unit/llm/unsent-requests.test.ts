import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { attempt } from '../../../src/llm/attempt.ts';
import { defaultLlmLimits } from '../../../src/llm/limits.ts';
import { createLlm } from '../../../src/llm/llm.ts';

/** No place is taken here. */
const redis = {} as never;
const unaborted = new AbortController().signal;

/** Sends one request, as a call of a run does each of its attempts. */
async function sendTo(baseUrl: string) {
  const config = { baseUrl, apiKey: undefined, reflectionModel: undefined };
  const llm = createLlm({ config, redis, limits: defaultLlmLimits });
  if (llm === undefined) throw new Error('no endpoint');
  return attempt(llm, { model: 'm', messages: [] }, unaborted);
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const unsent = (code: string) => ({
  ...{ ok: false, code: 'provider_unreachable', mayBeBilled: false, retry: true },
  message: `The endpoint was not reached, so nothing was sent (${code})`,
});

/** Listens and accepts nobody, so that further connections wait without an answer once its queue is full. */
const deaf = `
const { parentPort } = require('node:worker_threads');
const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;
const placesOfQueue = 2;

async function deafPort(): Promise<number> {
  const worker = new Worker(deaf, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const waiting = Array.from({ length: placesOfQueue }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(async () => {
    for (const socket of waiting) socket.destroy();
    await worker.terminate();
  });
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  return port;
}

const dispatcher = Symbol.for('undici.globalDispatcher.1');
interface Dispatchers {
  [dispatcher]: { constructor: new (options: { connect: { timeout: number } }) => Dispatchers[typeof dispatcher] };
}

/** Makes `fetch` wait for a connection for this long, instead of ten seconds. */
function waitForConnections(timeout: number): void {
  const all = globalThis as unknown as Dispatchers;
  const usual = all[dispatcher];
  all[dispatcher] = new usual.constructor({ connect: { timeout } });
  onTestFinished(() => {
    all[dispatcher] = usual;
  });
}

describe('a request for which there is no connection was not sent, and is not billed', () => {
  // `fetch` has a dispatcher then.
  beforeAll(() => fetch('data:,').then((response) => response.text()));

  test('when the endpoint does not answer', async () => {
    const port = await deafPort();
    waitForConnections(200);
    expect(await sendTo(`http://127.0.0.1:${port}/v1`)).toMatchObject(unsent('UND_ERR_CONNECT_TIMEOUT'));
  });

  test('when nobody listens', async () => {
    const server = createServer();
    const port = await portOf(server);
    server.close();
    expect(await sendTo(`http://127.0.0.1:${port}/v1`)).toMatchObject(unsent('ECONNREFUSED'));
  });

  test('when the endpoint does not speak TLS', async () => {
    const port = await portOf(createHttpServer());
    expect(await sendTo(`https://127.0.0.1:${port}/v1`)).toMatchObject(unsent('ERR_SSL_WRONG_VERSION_NUMBER'));
  });

  test('when the connection breaks before TLS has begun', async () => {
    const port = await portOf(createServer((socket) => socket.destroy()));
    expect(await sendTo(`https://127.0.0.1:${port}/v1`)).toMatchObject(unsent('ECONNRESET'));
  });

  test.skipIf(spawnSync('openssl', ['version']).status !== 0)('when its certificate is not valid', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'promptlane-certificate-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => join(directory, file)) as [string, string];
    const made = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other.example -keyout ${key} -out ${cert}`;
    execFileSync('openssl', made.split(' '), { stdio: 'ignore' });
    let requests = 0;
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => requests++);
    const port = await portOf(server);
    expect(await sendTo(`https://127.0.0.1:${port}/v1`)).toMatchObject(unsent('DEPTH_ZERO_SELF_SIGNED_CERT'));
    expect(requests).toBe(0);
  });
});

test('a request whose connection breaks after it was sent may have been billed', async () => {
  const port = await portOf(createServer((socket) => socket.once('data', () => socket.resetAndDestroy())));
  expect(await sendTo(`http://127.0.0.1:${port}/v1`)).toMatchObject({
    ...{ ok: false, code: 'provider_unreachable', mayBeBilled: true, retry: false },
  });
});
