import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../dev/ports.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { type CreatedWire, postExecution, storeExecution } from '../../support/post-execution.ts';
import { newTraceId } from '../../support/spans.ts';
import { getExecution, listExecutions, untilStored } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const mebibyte = 1024 * 1024;

const call = {
  name: 'chat gpt-4o',
  kind: 'llm',
  model: 'gpt-4o',
  provider: 'openai',
  input: [{ role: 'user', content: 'What is the capital of France?' }],
  output: 'Paris',
  usage: { input_tokens: 14, output_tokens: 5, cache_read_tokens: 4, cache_write_tokens: 2, reasoning_tokens: 3 },
  cost: '0.000123456',
};

describe('201', () => {
  test('with `Prefer: wait` the execution is readable at once, exactly as it was sent', async () => {
    const traceId = newTraceId();
    const body = {
      trace_id: traceId.toUpperCase(),
      name: 'answer',
      kind: 'agent',
      input: { question: 'capital of France', options: [1, null, true] },
      output: 'Paris',
      started_at: '2026-11-20T10:00:00.123456789Z',
      ended_at: '2026-11-20T12:00:01.123456789+02:00',
      session_id: 'session-1',
      user_id: 'user-1',
      environment: 'production',
      tags: ['geo', 'demo'],
      prompt_id: 'prm_1',
      prompt_version: 3,
      variables: { country: 'France', depth: 2 },
      metadata: { plan: 'pro', nested: { list: [1, 2.5, 'x', null] } },
      spans: [
        { ...call, started_at: '2026-11-20T10:00:00.2Z', duration_ms: 700.5 },
        { name: 'search', kind: 'tool', input: {}, output: [], error: { type: 'Timeout', message: 'took too long' } },
        { name: 'orphan', kind: 'other', parent_span_id: 'ABCDEFABCDEFABCD', status: 'unset' },
      ],
    };
    const answer = await postExecution(api, project, body, { Prefer: 'wait=10' });
    const self = `/api/projects/${project.id}/executions/${traceId}`;
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        id: traceId,
        trace_id: traceId,
        status: 'stored',
        links: { self, hierarchy: `${self}/hierarchy`, timeline: `${self}/timeline` },
      },
    ]);
    expect([answer.headers.get('location'), answer.headers.get('preference-applied')]).toEqual([self, 'wait=10']);

    const { status, body: stored } = await getExecution(api, project, traceId);
    expect(status).toBe(200);
    expect(stored).toMatchObject({
      name: 'answer',
      status: 'ok',
      span_count: 4,
      error_count: 1,
      complete: true,
      missing_parents: ['abcdefabcdefabcd'],
      started_at: '2026-11-20T10:00:00.123Z',
      duration_ms: 1_000,
      models: ['gpt-4o'],
      providers: ['openai'],
      prompts: [{ prompt_id: 'prm_1', prompt_version: 3 }],
      usage: { input_tokens: 14, output_tokens: 5, total_tokens: 19 },
      cost: '0.000123456',
      session_id: 'session-1',
      user_id: 'user-1',
      environment: 'production',
      tags: ['geo', 'demo'],
      output_preview: 'Paris',
    });
    const spans = Object.fromEntries(stored.spans.map((span) => [span.name, span]));
    const root = spans.answer;
    expect(root).toMatchObject({
      parent_span_id: null,
      kind: 'agent',
      start_unix_nano: '1795168800123456789',
      end_unix_nano: '1795168801123456789',
      input: body.input,
      output: 'Paris',
      usage: null,
      cost: null,
      prompt_ref: { id: 'prm_1', version: 3, raw: '3', source: 'self' },
      attributes: {
        'gen_ai.prompt.variable.country': 'France',
        'gen_ai.prompt.variable.depth': 2,
        'promptlane.metadata.plan': 'pro',
        'promptlane.metadata.nested': { list: [1, 2.5, 'x', null] },
      },
      warnings: [],
    });
    expect(spans['chat gpt-4o']).toMatchObject({
      parent_span_id: root?.span_id,
      kind: 'llm',
      model: 'gpt-4o',
      provider: 'openai',
      status: 'ok',
      error: null,
      start_unix_nano: '1795168800200000000',
      duration_ms: 700.5,
      input: [{ role: 'user', parts: [{ type: 'text', content: 'What is the capital of France?' }] }],
      output: 'Paris',
      usage: { ...call.usage, total_tokens: 19 },
      cost: '0.000123456',
      cost_source: 'reported',
      environment: 'production',
    });
    expect(spans.search).toMatchObject({
      kind: 'tool',
      status: 'error',
      error: { type: 'Timeout', message: 'took too long', stack: null },
      input: {},
      output: [],
      start_unix_nano: root?.start_unix_nano,
      end_unix_nano: root?.end_unix_nano,
    });
    expect(spans.orphan).toMatchObject({ parent_span_id: 'abcdefabcdefabcd', status: 'unset', kind: 'other' });
  });

  test('it is in the list at once, too', async () => {
    const own = await newProject(api);
    const { trace_id } = await storeExecution(api, own, { ...call, error: 'it broke' });
    const { body } = await listExecutions(api, own);
    expect(body.data).toMatchObject([
      { trace_id, name: 'chat gpt-4o', status: 'error', error_count: 1, usage: { total_tokens: 19 } },
    ]);
  });

  test('the same trace again replaces, never duplicates, and the writing that came last counts', async () => {
    const trace_id = newTraceId();
    const body = (name: string) => ({
      trace_id,
      name,
      started_at: '2026-11-20T10:00:00Z',
      duration_ms: 5,
      spans: [call, { name: `child of ${name}`, kind: 'tool' }],
    });
    const ids = new Set<string>();
    for (const name of ['first', 'second', 'first', 'first']) {
      await storeExecution(api, project, body(name));
      const { body: stored } = await getExecution(api, project, trace_id);
      expect([stored.name, stored.span_count, stored.usage.total_tokens]).toEqual([name, 3, 19]);
      expect(stored.spans.map((span) => span.name).sort()).toEqual(['chat gpt-4o', `child of ${name}`, name].sort());
      for (const { span_id } of stored.spans) ids.add(span_id);
    }
    expect(ids.size).toBe(3);
  });

  test('an operator may write for a project', async () => {
    const { status } = await postExecution(
      api,
      { id: project.id, key: '' },
      { name: 'operated' },
      { 'X-Admin-Key': api.config.adminApiKey, Prefer: 'wait=10' },
    );
    expect(status).toBe(201);
  });

  test('the largest execution, of 10,000 spans, is stored whole', async () => {
    const spans = Array.from({ length: 9_999 }, () => ({ ...call, name: 'n' }));
    const { trace_id } = await storeExecution(api, project, { spans });
    const { body } = await listExecutions(api, project, { limit: 100 });
    expect(body.data.find((each) => each.trace_id === trace_id)).toMatchObject({
      span_count: 10_000,
      usage: { total_tokens: 19 * 9_999 },
    });
  });
});

describe('202', () => {
  test('an empty body is an execution of this moment', async () => {
    const before = Date.now();
    const { status, headers, body } = await postExecution(api, project, {});
    expect([status, body.status, headers.get('preference-applied')]).toEqual([202, 'queued', null]);
    expect([body.id, headers.get('location')]).toEqual([body.trace_id, body.links.self]);
    const stored = await untilStored(api, project, body.trace_id);
    expect(stored).toMatchObject({ name: 'execution', status: 'ok', span_count: 1, duration_ms: 0, complete: true });
    expect(Date.parse(stored.started_at)).toBeGreaterThanOrEqual(before);
  });

  test('it is what the contract says', async () => {
    const options = { params: { project_id: project.id }, key: project.key, body: call };
    const { status, body } = await api.call<CreatedWire>('createExecution', options);
    expect([status, body.status]).toEqual([202, 'queued']);
  });

  test('a wait of no time answers before anything is stored, and says that it was applied', async () => {
    const { status, headers, body } = await postExecution(api, project, call, { Prefer: 'wait=0' });
    expect([status, body.status, headers.get('preference-applied')]).toEqual([202, 'queued', 'wait=0']);
  });

  test.each(['return=minimal', 'wait=soon', 'respond-async'])('Prefer: %s waits for nothing', async (prefer) => {
    const { status, headers } = await postExecution(api, project, call, { Prefer: prefer });
    expect([status, headers.get('preference-applied')]).toEqual([202, null]);
  });

  test('a key with only executions:write is enough, and a compressed body is read', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['executions:write'] });
    const response = await fetch(`${api.url}/api/projects/${project.id}/executions`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body: gzipSync(JSON.stringify(call)),
    });
    expect(response.status).toBe(202);
  });
});

describe('400', () => {
  test('broken JSON is refused', async () => {
    expectProblem(await postExecution(api, project, '{"name":'), 400, 'malformed_json');
  });

  test('a field that does not exist is named with the one that was meant', async () => {
    const problem = expectProblem(await postExecution(api, project, { modle: 'gpt-4o' }), 400, 'unknown_field');
    expect(problem.errors).toMatchObject([{ path: 'modle', message: expect.stringContaining('"model"') }]);
  });

  test('a query is refused', async () => {
    const options = { params: { project_id: project.id }, key: project.key, body: {}, query: { wait: 5 } };
    expectProblem(await api.call('createExecution', options), 400, 'unknown_parameter');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const options = { params: { project_id: project.id }, body: {} };
    expectProblem(await api.call('createExecution', options), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key that may only read, or only export traces, is refused', async () => {
    for (const scopes of [['executions:read'], ['traces:write']]) {
      const { key } = await newKey(api, project.id, { scopes });
      expectProblem(await postExecution(api, { ...project, key }, {}), 403, 'insufficient_scope');
    }
  });
});

describe('404', () => {
  test("another tenant's project is answered as one that does not exist", async () => {
    const other = await newProject(api);
    for (const id of [other.id, newId('prj')]) {
      expectProblem(await postExecution(api, { id, key: project.key }, {}), 404, 'project_not_found');
    }
  });
});

describe('413', () => {
  test('a body over 8 MiB is refused, as sent and inflated', async () => {
    const body = JSON.stringify({ output: 'x'.repeat(8 * mebibyte) });
    expectProblem(await postExecution(api, project, body), 413, 'body_too_large');
    const response = await fetch(`${api.url}/api/projects/${project.id}/executions`, {
      method: 'POST',
      headers: { 'X-API-Key': project.key, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body: gzipSync(body),
    });
    expect(response.status).toBe(413);
  });

  test.each([{ otlpBodyBytesMax: 4_096 }, { otlpInflatedBytesMax: 4_096 }])(
    'an execution that would be too large an OTLP request is refused: %j',
    async (limits) => {
      const small = await startApi(limits);
      try {
        const own = await newProject(small);
        const spans = Array.from({ length: 20 }, () => ({ name: 's', kind: 'tool' }));
        const problem = expectProblem(await postExecution(small, own, { spans }), 413, 'body_too_large');
        expect(problem.detail).toContain('4096');
      } finally {
        await small.close();
      }
    },
  );
});

describe('415', () => {
  test.each([{ 'Content-Type': 'application/x-protobuf' }, { 'Content-Encoding': 'br' }])('%j', async (headers) => {
    expect((await postExecution(api, project, {}, headers)).status).toBe(415);
  });
});

describe('422', () => {
  test.each([
    ['the execution', { started_at: '2554-07-21T23:00:00Z', duration_ms: 31_622_400_000 }, 'duration_ms'],
    [
      'a span',
      { spans: [{ name: 's', kind: 'other', started_at: '2554-07-21T23:34:33Z', duration_ms: 1_000 }] },
      'spans[0].duration_ms',
    ],
  ])('times of %s that 64 bits of nanoseconds cannot hold, also when asked to wait', async (_what, body, path) => {
    for (const headers of [{}, { Prefer: 'wait=10' }]) {
      const answer = await postExecution(api, project, body, headers);
      expect(expectProblem(answer, 422, 'invalid_body').errors).toMatchObject([{ path, code: 'too_big' }]);
    }
  });

  test.each([
    [{ started_at: '2026-11-20T10:00:00Z', ended_at: '2026-11-20T09:00:00Z' }, 'ended_at'],
    [
      { spans: [{ name: 's', kind: 'llm', usage: { input_tokens: 1, cache_read_tokens: 2 } }] },
      'spans[0].usage.cache_read_tokens',
    ],
  ])('what cannot be in %j is named by its path', async (body, path) => {
    const problem = expectProblem(await postExecution(api, project, body), 422, 'invalid_body');
    expect(problem.errors).toMatchObject([{ path }]);
  });

  test('two spans of one id are refused, and nothing is stored', async () => {
    const trace_id = newTraceId();
    const span = { name: 's', kind: 'tool', span_id: '1234567812345678' };
    const problem = expectProblem(
      await postExecution(api, project, { trace_id, spans: [span, span] }),
      422,
      'invalid_body',
    );
    expect(problem.errors).toMatchObject([{ path: 'spans[1].span_id', code: 'duplicate' }]);
    await storeExecution(api, project, {});
    expect((await getExecution(api, project, trace_id)).status).toBe(404);
  });

  test('text that cannot be stored is refused', async () => {
    expectProblem(await postExecution(api, project, '{"name":"a\\u0000b"}'), 422, 'invalid_body');
  });
});

describe('503', () => {
  test('nothing is acknowledged while bodies cannot be kept', async () => {
    const cut = await startApi({ redisUrl: `redis://127.0.0.1:${await freePort()}` });
    try {
      const own = await newProject(cut);
      const answer = await postExecution(cut, own, call, { Prefer: 'wait=10' });
      expectProblem(answer, 503, 'ingest_unavailable');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    } finally {
      await cut.close();
    }
  });
});
