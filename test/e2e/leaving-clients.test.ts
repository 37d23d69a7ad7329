import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { type RawRequest, waysToLeave } from '../support/leaving-clients.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { aSpan } from '../support/spans.ts';
import { until } from '../support/until.ts';

/** After an early answer the server goes on for five seconds, so what it does then is seen, too. */
const lingerMs = 5_000;

let api: TestApi;
let own: OwnApi;
let project: ProjectOfTest;
let port: number;
beforeAll(async () => {
  api = await startApi();
  own = await startOwnApi(api.config);
  project = await newProject(api);
  port = Number(new URL(own.url).port);
});
afterAll(async () => {
  await own?.stop();
  await api?.close();
});

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

/** One route of every kind. */
function routes(): Record<string, RawRequest> {
  const key = `X-API-Key: ${project.key}`;
  const prompts = `/api/projects/${project.id}/prompts`;
  const asJson = 'Content-Type: application/json';
  const prompt = { name: 'p', type: 'text', content: 'x' };
  return {
    open: { method: 'GET', path: '/api/health?probe=live', headers: [], body: Buffer.alloc(0) },
    'a large answer': { method: 'GET', path: '/api/openapi.json', headers: [], body: Buffer.alloc(0) },
    read: { method: 'GET', path: `${prompts}?limit=1`, headers: [key], body: Buffer.alloc(0) },
    write: { method: 'POST', path: prompts, headers: [key, asJson], body: json(prompt) },
    'write, once': { method: 'POST', path: prompts, headers: [key, asJson, 'Idempotency-Key: k'], body: json(prompt) },
    execution: {
      method: 'POST',
      path: `/api/projects/${project.id}/executions`,
      headers: [key, asJson, 'Prefer: wait=1'],
      body: json({ name: 'x' }),
    },
    otlp: {
      method: 'POST',
      path: '/api/v1/traces',
      headers: [key, 'Content-Type: application/x-protobuf'],
      body: Buffer.from(encodeSpans('protobuf', [aSpan()])),
    },
    'import stream': {
      method: 'POST',
      path: `${prompts}/import`,
      headers: [key, 'Content-Type: application/x-ndjson'],
      body: Buffer.from('\n\n'),
    },
    'export stream': { method: 'GET', path: `${prompts}/export`, headers: [key], body: Buffer.alloc(0) },
    webhook: { method: 'POST', path: '/api/webhooks/clerk', headers: [asJson], body: json({}) },
    'no route': { method: 'POST', path: '/api/nothing', headers: [asJson], body: json({}) },
  };
}

async function figure(name: string): Promise<number> {
  const answer = await fetch(`${own.url}/metrics`, { headers: { 'X-Admin-Key': api.config.adminApiKey } });
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'm').exec(await answer.text())?.[1];
  return Number(value);
}

const serves = async () => (await fetch(`${own.url}/api/health?probe=live`)).status === 200;

describe('an API process whose clients leave', () => {
  test('in every way, on every kind of route, five times over: lives, and its connections are gone', async () => {
    onTestFailed(() => console.error(own.process.logTail(20)));
    const { pid } = own.process;
    let ended = false;
    void own.process.exited.then(() => {
      ended = true;
    });
    expect(await serves()).toBe(true);
    const before = await figure('nodejs_active_resources_total');
    const all = Object.values(routes()).flatMap((request) =>
      Object.values(waysToLeave).map((leave) => ({ leave, request })),
    );
    for (let round = 0; round < 5; round++) {
      for (let start = 0; start < all.length; start += 50) {
        await Promise.all(all.slice(start, start + 50).map(({ leave, request }) => leave(port, request)));
      }
    }
    const leftAtMs = Date.now();
    await until('the time in which it lingers', lingerMs * 3, () => ended || Date.now() - leftAtMs > lingerMs + 1_000);
    expect(ended, own.process.logTail(5)).toBe(false);
    expect(own.process.pid).toBe(pid);
    expect(await serves()).toBe(true);
    await until('what it held is back', 30_000, async () => {
      const now = await figure('nodejs_active_resources_total');
      return now <= before + 10;
    });
  });

  test('a thousand at once within the body: lives, and serves', async () => {
    const { otlp, open } = routes();
    const leave = waysToLeave['within the body'];
    if (otlp === undefined || open === undefined || leave === undefined) expect.unreachable();
    await Promise.all(Array.from({ length: 1_000 }, () => leave(port, otlp)));
    expect(await serves()).toBe(true);
    await until('their files are closed', 30_000, async () => !((await figure('process_open_fds')) > 300));
  });
});
