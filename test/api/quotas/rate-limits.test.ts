import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  expectProblem,
  newProject,
  type ProjectOfTest,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import { limitedProject, override, spanQuota } from '../../support/limits.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { postExecution } from '../../support/post-execution.ts';
import { aSpan } from '../../support/spans.ts';
import { contentTypes, decodeStatus, type Encoding, type ExportAnswer, postTraces } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const rateNames = [
  'ratelimit-policy',
  'ratelimit',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
] as const;

function expectBothDialects(headers: Headers): void {
  const [policy, limit, xLimit, xRemaining, xReset] = rateNames.map((name) => headers.get(name) ?? '');
  expect(policy).toMatch(/^"\w+";q=\d+;w=60(;qu="[a-z-]+")?(, "\w+";q=\d+;w=60(;qu="[a-z-]+")?)*$/);
  expect(limit).toMatch(/^"\w+";r=\d+;t=\d+$/);
  expect(xLimit).toMatch(/^\d+$/);
  expect(limit).toContain(`;r=${xRemaining};`);
  expect(Math.abs(Number(xReset) - Date.now() / 1_000)).toBeLessThan(120);
}

const readPrices = (project: ProjectOfTest, key = project.key) =>
  api.call('getModelPrices', { params: { project_id: project.id }, key });

const spanBody = (spans = 1, encoding: Encoding = 'protobuf') =>
  Buffer.from(
    encodeSpans(
      encoding,
      Array.from({ length: spans }, () => aSpan()),
    ),
  );

const send = (project: ProjectOfTest, spans = 1): Promise<ExportAnswer> =>
  postTraces(api, project.key, spanBody(spans));

describe('rate headers', () => {
  test('come in both dialects with every answer, whatever it is', async () => {
    const project = await newProject(api, 'free');
    const answers: [number, { headers: Headers; status: number }][] = [
      [200, await readPrices(project)],
      [200, await api.call('getHealth')],
      [401, await readPrices(project, 'pl_bad')],
      [404, await readPrices({ ...project, id: 'prj_other' })],
      [404, await fetch(`${api.url}/api/nowhere`)],
      [405, await fetch(`${api.url}/api/health`, { method: 'DELETE' })],
      [200, await send(project)],
      [400, await postTraces(api, project.key, 'nonsense')],
      [415, await postTraces(api, project.key, 'text', { 'Content-Type': 'text/plain' })],
      [401, await fetch(`${api.url}/api/v1/metrics`, { method: 'POST' })],
    ];
    for (const [status, answer] of answers) {
      expect(answer.status).toBe(status);
      expectBothDialects(answer.headers);
    }
  });

  test('name the limit and count down', async () => {
    const project = await limitedProject(api, { rate_limits: { read: 10 } }, 'free');
    const remaining = [];
    for (let i = 0; i < 3; i++) {
      const { headers } = await readPrices(project);
      expect(headers.get('ratelimit-policy')).toBe('"read";q=10;w=60');
      expect(headers.get('x-ratelimit-limit')).toBe('10');
      remaining.push(Number(headers.get('x-ratelimit-remaining')));
    }
    expect(remaining).toEqual([9, 8, 7]);
  });

  test('say a large ceiling on an unlimited plan, and to the operator', async () => {
    const project = await newProject(api, 'enterprise');
    expect((await readPrices(project)).headers.get('x-ratelimit-remaining')).toBe('1000000000');
    const limited = await limitedProject(api, { rate_limits: { read: 0 } });
    const answer = await api.call('getModelPrices', {
      params: { project_id: limited.id },
      adminKey: api.config.adminApiKey,
    });
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '1000000000']);
  });
});

describe('a workspace over its rate', () => {
  test('is answered 429 with the time to wait, and passes once it has', async () => {
    const project = await limitedProject(api, { rate_limits: { read: 20 } });
    const answers = await Promise.all(Array.from({ length: 40 }, () => readPrices(project)));
    const refused = answers.filter(({ status }) => status === 429);
    // One drains every three seconds.
    expect(refused.length).toBeGreaterThan(15);
    expect(refused.length).toBeLessThanOrEqual(20);
    for (const answer of refused) {
      expect(expectProblem(answer, 429, 'rate_limited').limit).toBe('read');
      expectBothDialects(answer.headers);
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('0');
      expect(answer.headers.get('retry-after')).toMatch(/^[123]$/);
    }
    await until('a request passes again', 30_000, async () => (await readPrices(project)).status === 200);
  });

  test('is limited by class, and together with the other keys and projects of the workspace', async () => {
    const project = await limitedProject(api, { rate_limits: { read: 2, write: 1 } });
    const sibling = await api.admin<{ id: string }>(
      'createProject',
      { params: { workspace_id: project.workspaceId }, body: { name: 'sibling' } },
      201,
    );
    const { key } = await api.admin<{ key: string }>(
      'createApiKey',
      { params: { project_id: sibling.id }, body: { name: 'sibling' } },
      201,
    );
    expect((await readPrices(project)).status).toBe(200);
    expect((await readPrices({ ...project, id: sibling.id, key })).status).toBe(200);
    expectProblem(await readPrices(project), 429, 'rate_limited');
    const put = () =>
      api.call('putModelPrices', { params: { project_id: project.id }, key: project.key, body: { prices: [] } });
    expect((await put()).status).toBe(200);
    expectProblem(await put(), 429, 'rate_limited');
    expect((await readPrices(await newProject(api, 'free'))).status).toBe(200);
  });

  test('has a new limit within a second of its change', async () => {
    const project = await limitedProject(api, { rate_limits: { read: 1 } });
    expect((await readPrices(project)).status).toBe(200);
    expect((await readPrices(project)).status).toBe(429);
    await override(api, project, { rate_limits: { read: 1_000 } });
    await until('the new limit', 1_200, async () => (await readPrices(project)).status === 200);
  });
});

describe.each(['protobuf', 'json'] as const)('POST /api/v1/traces as %s over a limit', (encoding) => {
  const post = (project: ProjectOfTest, spans = 1) =>
    postTraces(api, project.key, spanBody(spans, encoding), { 'Content-Type': contentTypes[encoding] });

  test.each([
    ['requests', { ingest: 2 }, '"ingest"'],
    ['spans', { ingest_spans: 20 }, '"ingest_spans"'],
    ['bytes', { ingest_bytes: spanBody(10, encoding).length * 2 }, '"ingest_bytes"'],
  ] as const)('of %s is 429 as google.rpc.Status with Retry-After', async (_, rateLimits, name) => {
    const project = await limitedProject(api, { rate_limits: rateLimits });
    expect((await post(project, 9)).status).toBe(200);
    expect((await post(project, 9)).status).toBe(200);
    const answer = await post(project, 10);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('content-type')).toBe(contentTypes[encoding]);
    expect(decodeStatus(encoding, answer.bytes)).toMatchObject({
      code: 8,
      message: expect.stringContaining('per 60 s'),
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(answer.headers.get('ratelimit')).toContain(name);
    expect((await spanQuota(api, project)).used).toBe(18);
  });

  test.each([
    ['spans', { ingest_spans: 8 }, {}],
    ['the month', {}, { spans: 8 }],
  ])('of %s counts as a request, so that the limit of requests bounds how often it comes', async (_, rates, quotas) => {
    const project = await limitedProject(api, { rate_limits: { ingest: 4, ...rates }, quotas });
    for (let sent = 0; sent < 4; sent++) expect((await post(project, 9)).status).not.toBe(200);
    const answer = await post(project, 1);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('ratelimit')).toContain('"ingest"');
  });

  test('of the month is 402 without Retry-After', async () => {
    const project = await limitedProject(api, { quotas: { spans: 10 } });
    expect((await post(project, 9)).status).toBe(200);
    const answer = await post(project, 2);
    expect(answer.status).toBe(402);
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(decodeStatus(encoding, answer.bytes)).toMatchObject({
      code: 8,
      message: expect.stringContaining('9 of its 10 spans'),
    });
    expect((await post(project, 1)).status).toBe(200);
    expect((await post(project, 1)).status).toBe(402);
    expect(await spanQuota(api, project)).toMatchObject({
      limit: 10,
      used: 10,
      remaining: 0,
      used_ratio: 1,
      hard: true,
    });
  });
});

describe('ingestion', () => {
  test.each([3, 4])('accepts a body again when the quota of %i spans no longer has room for it', async (spans) => {
    const project = await limitedProject(api, { quotas: { spans } });
    const body = spanBody(3, 'json');
    const post = (sent: Uint8Array<ArrayBuffer>) =>
      postTraces(api, project.key, sent, { 'Content-Type': contentTypes.json });
    for (const sent of [body, body, body, body]) expect((await post(sent)).status).toBe(200);
    expect((await post(spanBody(3, 'json'))).status).toBe(402);
    expect((await spanQuota(api, project)).used).toBe(3);
  });

  test('counts a body that comes again when the quota is used up as a request', async () => {
    const project = await limitedProject(api, { quotas: { spans: 3 }, rate_limits: { ingest: 3 } });
    const body = spanBody(3, 'json');
    for (const status of [200, 200, 200, 429]) {
      expect((await postTraces(api, project.key, body, { 'Content-Type': contentTypes.json })).status).toBe(status);
    }
  });

  test('counts what it refuses as requests, or nonsense alone would be without a limit', async () => {
    const project = await limitedProject(api, { rate_limits: { ingest: 3 } });
    for (const status of [400, 400, 400, 429]) {
      expect((await postTraces(api, project.key, 'nonsense')).status).toBe(status);
    }
    expect((await spanQuota(api, project)).used).toBe(0);
  });

  test('of a workspace that has used up its rate is refused before the body is read', async () => {
    const project = await limitedProject(api, { rate_limits: { ingest: 1 } });
    expect((await send(project)).status).toBe(200);
    const answer = await postTraces(api, project.key, Buffer.alloc(20 * 1024 * 1024));
    // Read, it would have been 413.
    expect(answer.status).toBe(429);
  });

  test('of executions as JSON counts as writing and as spans', async () => {
    const project = await limitedProject(api, { rate_limits: { write: 2, ingest_spans: 100 }, quotas: { spans: 3 } });
    const first = await postExecution(api, project, { name: 'a', spans: [{ name: 'b', kind: 'llm' }] });
    expect(first.status, first.text).toBe(202);
    expect(first.headers.get('ratelimit-policy')).toBe('"write";q=2;w=60');
    expect(await spanQuota(api, project)).toMatchObject({ used: 2 });
    const second: Answer<unknown> = await postExecution(api, project, {
      name: 'a',
      spans: [{ name: 'b', kind: 'llm' }],
    });
    expect(expectProblem(second, 402, 'quota_exceeded')).toMatchObject({ resource: 'spans', limit: 3, used: 2 });
    expectProblem(await postExecution(api, project, { name: 'a' }), 429, 'rate_limited');
  });
});
