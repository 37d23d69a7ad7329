import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  expectProblem,
  newProject,
  type ProjectOfTest,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import { getQuota, limitedProject, override, spanQuota } from '../../support/limits.ts';
import { postSignal } from '../../support/logs.ts';
import { encodeLogRecords, encodeSpans, encodeTraces } from '../../support/otlp-encode.ts';
import { postExecution } from '../../support/post-execution.ts';
import { aSpan, newSpanId, newTraceId, nowNano } from '../../support/spans.ts';
import { contentTypes, postTraces } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const bodyOf = (spans: number) =>
  Buffer.from(
    encodeSpans(
      'protobuf',
      Array.from({ length: spans }, () => aSpan()),
    ),
  );

describe('200', () => {
  test('reports the plan, its period, quotas, rates and retention', async () => {
    const project = await limitedProject(api, { rate_limits: { read: 10 } }, 'free');
    const quota = await getQuota(api, project);
    expect(quota).toMatchObject({ workspace_id: project.workspaceId, plan: 'free', retention_days: 30, features: {} });
    const start = new Date(quota.period.start);
    expect([start.getUTCDate(), start.toISOString().slice(10)]).toEqual([1, 'T00:00:00.000Z']);
    expect(quota.period.end).toBe(new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1)).toISOString());
    expect(quota.period.resets_at).toBe(quota.period.end);
    expect(quota.limits).toEqual([
      {
        resource: 'spans',
        unit: 'span',
        limit: 50_000,
        used: 0,
        remaining: 50_000,
        used_ratio: 0,
        hard: true,
        projected: 0,
      },
      {
        resource: 'optimization_runs',
        unit: 'run',
        limit: 20,
        used: 0,
        remaining: 20,
        used_ratio: 0,
        hard: true,
        projected: 0,
      },
      {
        resource: 'ingested_bytes',
        unit: 'byte',
        limit: 10 * 1024 ** 3,
        used: 0,
        remaining: 10 * 1024 ** 3,
        used_ratio: 0,
        hard: true,
        projected: 0,
      },
      {
        resource: 'written_bytes',
        unit: 'byte',
        limit: 1024 ** 3,
        used: 0,
        remaining: 1024 ** 3,
        used_ratio: 0,
        hard: true,
        projected: 0,
      },
    ]);
    const rate = (name: string, unit: string, limit: number) => ({
      class: name,
      unit,
      limit,
      window_s: 60,
      remaining: limit,
    });
    expect(quota.rate_limits).toEqual([
      rate('ingest', 'request', 1_000),
      rate('ingest', 'byte', 64 * 1024 * 1024),
      rate('ingest', 'span', 20_000),
      { ...rate('read', 'request', 10), remaining: 9 },
      rate('write', 'request', 120),
      rate('render', 'request', 6_000),
      rate('analytics', 'request', 60),
    ]);
  });

  test('is null where nothing is limited, with the use all the same', async () => {
    const project = await newProject(api, 'enterprise');
    expect((await postTraces(api, project.key, bodyOf(3))).status).toBe(200);
    const quota = await getQuota(api, project);
    expect(quota).toMatchObject({ plan: 'enterprise', retention_days: null });
    expect(quota.limits[0]).toMatchObject({ limit: null, used: 3, remaining: null, used_ratio: 0 });
    for (const { limit, remaining } of quota.rate_limits) expect([limit, remaining]).toEqual([null, null]);
  });

  test('follows the use without using any of it', async () => {
    const project = await limitedProject(api, { rate_limits: { ingest: 5 }, quotas: { spans: 1_000 } }, 'free');
    expect((await postTraces(api, project.key, bodyOf(40))).status).toBe(200);
    for (let i = 0; i < 2; i++) {
      const quota = await getQuota(api, project);
      expect(quota.limits[0]).toMatchObject({ limit: 1_000, used: 40, remaining: 960, used_ratio: 0.04 });
      expect(quota.limits[0]?.projected).toBeGreaterThanOrEqual(40);
      expect(quota.limits[0]?.projected).toBeLessThanOrEqual(40 * 31);
      expect(quota.rate_limits[0]).toMatchObject({ class: 'ingest', remaining: 4 });
    }
  });

  test('is of the overrides in force, within a second of their change', async () => {
    const project = await limitedProject(api, { quotas: { spans: 5 }, retention_days: 3 }, 'free');
    expect(await getQuota(api, project)).toMatchObject({
      limits: [{ limit: 5 }, { limit: 20 }, {}, {}],
      retention_days: 3,
    });
    await override(api, project, { quotas: { spans: null } });
    await until('the change', 1_000, async () => (await spanQuota(api, project)).limit === null);
  });

  test('is for the operator too', async () => {
    const project = await newProject(api, 'pro');
    const answer = await api.admin<{ plan: string }>(
      'getQuota',
      { params: { workspace_id: project.workspaceId } },
      200,
    );
    expect(answer.plan).toBe('pro');
  });
});

describe('the quota of spans', () => {
  test('is never exceeded, however many spend it at once', async () => {
    const project = await limitedProject(api, { quotas: { spans: 100 } });
    const answers = await Promise.all(Array.from({ length: 40 }, () => postTraces(api, project.key, bodyOf(7))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(14);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(26);
    expect(await spanQuota(api, project)).toMatchObject({ used: 98, remaining: 2 });
  });

  test.each([
    ['limited', 'free'],
    ['unlimited', 'enterprise'],
  ] as const)('does not meter a duplicate, %s', async (_, plan) => {
    const project = await newProject(api, plan);
    const body = bodyOf(5);
    const answers = await Promise.all(Array.from({ length: 6 }, () => postTraces(api, project.key, body)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect((await spanQuota(api, project)).used).toBe(5);
  });

  test('does not meter spans that are refused', async () => {
    const project = await newProject(api, 'free');
    const good = aSpan();
    const body = Buffer.from(encodeSpans('protobuf', [good, { ...aSpan(), traceId: '00'.repeat(16) }]));
    expect((await postTraces(api, project.key, body)).status).toBe(200);
    expect((await spanQuota(api, project)).used).toBe(1);
  });
});

describe('the quota of ingested bytes', () => {
  const protobuf = { 'Content-Type': contentTypes.protobuf };
  const bytesOf = async (project: ProjectOfTest) =>
    (await getQuota(api, project)).limits.find(({ resource }) => resource === 'ingested_bytes');

  test.each([
    ['limited', 'free'],
    ['unlimited', 'enterprise'],
  ] as const)('counts a body after decompression, once however often it comes, %s', async (_, plan) => {
    const project = await newProject(api, plan);
    const body = bodyOf(1);
    for (let sent = 0; sent < 3; sent++) {
      const answer = await postTraces(api, project.key, gzipSync(body), { ...protobuf, 'Content-Encoding': 'gzip' });
      expect(answer.status).toBe(200);
    }
    expect(await bytesOf(project)).toMatchObject({ unit: 'byte', used: body.length });
  });

  test('counts the copies of a resource that spans are stored with', async () => {
    const project = await newProject(api);
    const attributes = { 'host.name': 'x'.repeat(100_000) };
    const spans = Array.from({ length: 10 }, () => aSpan());
    const body = encodeTraces('protobuf', [{ resource: { attributes }, scopeSpans: [{ spans }] }]);
    expect((await postTraces(api, project.key, Buffer.from(body))).status).toBe(200);
    const { used = 0 } = (await bytesOf(project)) ?? {};
    expect(used).toBeGreaterThan(1_000_000);
    expect(used).toBeLessThan(1_200_000);
  });

  test('refuses spans, log records and executions that exceed it, and counts nothing of them', async () => {
    const project = await limitedProject(api, { quotas: { ingested_bytes: 2_000 } });
    const first = bodyOf(1);
    expect((await postTraces(api, project.key, first)).status).toBe(200);
    const records = [{ timeUnixNano: nowNano(), body: 'x'.repeat(2_000), traceId: newTraceId(), spanId: newSpanId() }];
    const logs = Buffer.from(encodeLogRecords('protobuf', records));
    const execution = await postExecution(api, project, { name: 'a', input: 'x'.repeat(2_000) });
    for (const { status } of [
      await postTraces(api, project.key, bodyOf(100)),
      await postSignal(api, 'logs', project.key, logs, protobuf),
      execution,
    ]) {
      expect(status).toBe(402);
    }
    const problem = expectProblem(execution as Answer<unknown>, 402, 'quota_exceeded');
    expect(problem).toMatchObject({ resource: 'ingested_bytes', limit: 2_000, used: first.length });
    expect(await bytesOf(project)).toMatchObject({ used: first.length, limit: 2_000 });
    expect((await spanQuota(api, project)).used).toBe(1);
  });

  test('counts log records, which no quota of spans counts', async () => {
    const project = await newProject(api, 'free');
    const records = [{ timeUnixNano: nowNano(), body: 'a log record', traceId: newTraceId(), spanId: newSpanId() }];
    const logs = Buffer.from(encodeLogRecords('protobuf', records));
    expect((await postSignal(api, 'logs', project.key, logs, protobuf)).status).toBe(200);
    expect((await bytesOf(project))?.used).toBe(logs.length);
    expect((await spanQuota(api, project)).used).toBe(0);
  });
});

describe('the quota of written bytes', () => {
  const writtenOf = async (project: ProjectOfTest) =>
    (await getQuota(api, project)).limits.find(({ resource }) => resource === 'written_bytes');
  const prompt = (name: string) => ({ name, type: 'text', template: 'x'.repeat(1_000) });
  const create = (project: ProjectOfTest, name: string, headers: Readonly<Record<string, string>> = {}) => {
    const given = { params: { project_id: project.id }, key: project.key, body: prompt(name), headers };
    return api.call<{ id: string }>('createPrompt', given);
  };

  test('counts the bodies and answers of writes, also when a plan has no limit', async () => {
    const project = await newProject(api);
    let used = 0;
    for (const name of ['one', 'two']) {
      const answer = await create(project, name);
      expect(answer.status).toBe(201);
      used += JSON.stringify(prompt(name)).length + answer.text.length;
    }
    expect(await writtenOf(project)).toMatchObject({ unit: 'byte', used, limit: null });
  });

  test('counts the copy that a rollback stores', async () => {
    const project = await newProject(api);
    const params = { project_id: project.id, prompt_id: (await create(project, 'one')).body.id };
    const before = (await writtenOf(project))?.used ?? 0;
    const options = { params, key: project.key, body: { version: 1 } };
    for (let count = 0; count < 3; count++) expect((await api.call('rollbackPrompt', options)).status).toBe(201);
    expect((await writtenOf(project))?.used).toBeGreaterThan(before + 3_000);
  });

  test('does not count or refuse a request that is only answered again', async () => {
    const project = await limitedProject(api, { quotas: { written_bytes: 2_000 } });
    const headers = { 'Idempotency-Key': 'the-first' };
    const first = await create(project, 'one', headers);
    expect(first.status).toBe(201);
    expectProblem(await create(project, 'two'), 402, 'quota_exceeded');
    const { used } = (await writtenOf(project)) ?? {};
    const again = await create(project, 'one', headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await writtenOf(project))?.used).toBe(used);
  });

  test('refuses writes that exceed it, also imports, and no reads', async () => {
    const project = await limitedProject(api, { quotas: { written_bytes: 2_000 } });
    expect((await create(project, 'one')).status).toBe(201);
    const problem = expectProblem(await create(project, 'two'), 402, 'quota_exceeded');
    expect(problem).toMatchObject({ resource: 'written_bytes', limit: 2_000 });
    const other = await newProject(api);
    expect((await create(other, 'three')).status).toBe(201);
    const lines = await api.call('exportPrompts', { params: { project_id: other.id }, key: other.key });
    const imported = await fetch(`${api.url}/api/projects/${project.id}/prompts/import`, {
      method: 'POST',
      headers: { 'X-API-Key': project.key, 'Content-Type': 'application/x-ndjson' },
      body: lines.text,
    });
    expect([imported.status, await imported.json()]).toMatchObject([402, { code: 'quota_exceeded' }]);
    const options = { params: { project_id: project.id }, key: project.key };
    expect((await api.call('listPrompts', options)).status).toBe(200);
  });

  test('does not count executions, whose bytes are ingested', async () => {
    const project = await limitedProject(api, { quotas: { written_bytes: 10 } });
    expect((await postExecution(api, project, { name: 'a' })).status).toBe(202);
    expect((await writtenOf(project))?.used).toBe(0);
  });
});

describe('errors', () => {
  test('another workspace is 404, as one that does not exist', async () => {
    const [project, other] = [await newProject(api), await newProject(api)];
    for (const workspaceId of [other.workspaceId, 'wsp_none']) {
      const answer = await api.call('getQuota', { params: { workspace_id: workspaceId }, key: project.key });
      expectProblem(answer, 404, 'workspace_not_found');
    }
  });

  test('without credentials is 401', async () => {
    const { workspaceId } = await newProject(api);
    expectProblem(await api.call('getQuota', { params: { workspace_id: workspaceId } }), 401, 'credentials_required');
  });
});
