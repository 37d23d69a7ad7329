import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { beginRequest, type SlowSender } from '../support/slow-senders.ts';
import { aSpan } from '../support/spans.ts';
import { until } from '../support/until.ts';

const megabyte = 1024 * 1024;
const protobuf = 'application/x-protobuf';

let api: TestApi;
let own: OwnApi;
let slow: ProjectOfTest;
let other: ProjectOfTest;
beforeAll(async () => {
  api = await startApi();
  own = await startOwnApi(api.config);
  [slow, other] = [await newProject(api), await newProject(api)];
});
afterAll(async () => {
  await own?.stop();
  await api?.close();
});

async function otherSends(): Promise<{ statuses: number[]; slowestMs: number }> {
  const body = Buffer.from(encodeSpans('protobuf', [aSpan()]));
  const headers = { 'X-API-Key': other.key };
  const begunAtMs = performance.now();
  const answers = await Promise.all([
    fetch(`${own.url}/api/v1/traces`, { method: 'POST', headers: { ...headers, 'Content-Type': protobuf }, body }),
    fetch(`${own.url}/api/projects/${other.id}/executions`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"name":"x"}',
    }),
    fetch(`${own.url}/api/projects/${other.id}/prompts`, { headers }),
  ]);
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  return { statuses: answers.map(({ status }) => status), slowestMs: performance.now() - begunAtMs };
}

async function residentBytes(): Promise<number> {
  const answer = await fetch(`${own.url}/metrics`, { headers: { 'X-Admin-Key': api.config.adminApiKey } });
  return Number(/^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)/m.exec(await answer.text())?.[1]);
}

/** Every kind of route that reads a body. */
const routes = (project: ProjectOfTest) => [
  { path: '/api/v1/traces', key: project.key, type: protobuf },
  { path: `/api/projects/${project.id}/executions`, key: project.key, type: 'application/json' },
  { path: `/api/projects/${project.id}/prompts`, key: project.key, type: 'application/json' },
  { path: `/api/projects/${project.id}/prompts/import`, key: project.key, type: 'application/x-ndjson' },
];

describe('connections of one workspace that send a byte of their body and nothing more', () => {
  test('200 of them cost another workspace nothing, and each is answered 408 within ten seconds', async () => {
    await otherSends();
    const first = Buffer.from(' ');
    const idle: SlowSender[] = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const route = routes(slow)[index % 3] ?? expect.unreachable();
        return beginRequest(own.url, { ...route, bytes: 1_000, first });
      }),
    );
    const sent = await otherSends();
    expect(sent.statuses).toEqual([200, 202, 200]);
    expect(sent.slowestMs).toBeLessThan(2_000);
    const answers = await Promise.all(idle.map(({ answer }) => answer));
    expect(answers.map(({ text }) => text.slice(9, 12)).filter((status) => status !== '408')).toEqual([]);
    expect(answers[0]?.text).toMatch(/Content-Type: application\/x-protobuf/);
    expect(answers[1]?.text).toMatch(/"code":"request_timeout"/);
    expect(Math.max(...answers.map(({ afterMs }) => afterMs))).toBeLessThan(10_000);
  });

  test('leave nothing behind: their workspace has its places again', async () => {
    const [route] = routes(slow);
    if (route === undefined) expect.unreachable();
    // As many as one workspace may have under way at once.
    const idle = await Promise.all(
      Array.from({ length: 512 }, () => beginRequest(own.url, { ...route, bytes: 1_000, first: Buffer.from(' ') })),
    );
    await Promise.all(idle.map(({ answer }) => answer));
    const body = Buffer.from(encodeSpans('protobuf', [aSpan()]));
    const headers = { 'X-API-Key': slow.key, 'Content-Type': protobuf };
    await until('it is taken', 5_000, async () => {
      return (await fetch(`${own.url}/api/v1/traces`, { method: 'POST', headers, body })).status === 200;
    });
  });

  test.each([0, 1, 2, 3])('on route %s are answered 408', async (index) => {
    const route = routes(slow)[index] ?? expect.unreachable();
    const { answer } = await beginRequest(own.url, { ...route, bytes: 1_000, first: Buffer.from(' ') });
    expect((await answer).text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body that crawls is answered 408 although it never pauses', async () => {
    const route = routes(slow)[0] ?? expect.unreachable();
    const { socket, answer } = await beginRequest(own.url, { ...route, bytes: 100_000, first: Buffer.alloc(1) });
    const crawl = setInterval(() => socket.write(Buffer.alloc(1)), 500);
    const { text, afterMs } = await answer.finally(() => clearInterval(crawl));
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(afterMs).toBeLessThan(20_000);
  });
});

test('forty connections with 15 of 16 MiB each: memory grows by far less, one workspace is told that it is busy, another sends', async () => {
  await otherSends();
  const before = await residentBytes();
  const first = Buffer.alloc(15 * megabyte);
  const route = routes(slow)[0] ?? expect.unreachable();
  const senders = await Promise.all(
    Array.from({ length: 40 }, () => beginRequest(own.url, { ...route, bytes: 16 * megabyte, first })),
  );
  const answers = Promise.all(senders.map(({ answer }) => answer));
  let mostBytes = 0;
  let done = false;
  void answers.finally(() => {
    done = true;
  });
  await until('all are answered', 40_000, async () => {
    mostBytes = Math.max(mostBytes, await residentBytes());
    return done;
  });
  const statuses = (await answers).map(({ text }) => text.slice(9, 12));
  expect(statuses.filter((status) => status === '429').length).toBeGreaterThanOrEqual(30);
  expect(mostBytes - before).toBeLessThan(300 * megabyte);
  expect((await otherSends()).statuses).toEqual([200, 202, 200]);
});
