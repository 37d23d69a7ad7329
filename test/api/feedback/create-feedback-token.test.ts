import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintFeedbackToken } from '../../../src/domains/auth/index.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { newTraceId } from '../../support/spans.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

interface TokenWire {
  feedback_token: string;
  trace_id: string;
  expires_at: string;
}

const create = (body: object, { id, key } = project) =>
  api.call<TokenWire>('createFeedbackToken', { key, params: { project_id: id }, body });
const giveWith = (token: string, traceId: string) =>
  api.call('createFeedback', { token, body: { target_type: 'execution', trace_id: traceId, rating: 'up' } });

describe('201', () => {
  test('a token lives for seven days, or as long as asked', async () => {
    const traceId = newTraceId();
    const week = await create({ trace_id: traceId });
    expect([week.status, week.body.trace_id]).toEqual([201, traceId]);
    expect(week.body.feedback_token).toMatch(/^fbt_[\w-]+$/);
    expect(Math.abs(Date.parse(week.body.expires_at) - Date.now() - 7 * 86_400_000)).toBeLessThan(10_000);
    const minute = await create({ trace_id: traceId, ttl_s: 60 });
    expect(Math.abs(Date.parse(minute.body.expires_at) - Date.now() - 60_000)).toBeLessThan(10_000);
    expect((await giveWith(minute.body.feedback_token, traceId)).status).toBe(201);
  });

  test('an expired token is refused', async () => {
    const grant = { projectId: project.id, traceId: newTraceId(), expiresAtS: Math.floor(Date.now() / 1_000) - 1 };
    const token = mintFeedbackToken(api.config.apiKeyPepper, grant);
    expectProblem(await giveWith(token, grant.traceId), 401, 'invalid_credentials');
  });

  test('a token of another installation is refused', async () => {
    const grant = { projectId: project.id, traceId: newTraceId(), expiresAtS: Math.floor(Date.now() / 1_000) + 60 };
    expectProblem(
      await giveWith(mintFeedbackToken('another pepper', grant), grant.traceId),
      401,
      'invalid_credentials',
    );
  });

  test('a token ends with its workspace', async () => {
    const ending = await newProject(api);
    const traceId = newTraceId();
    const { body } = await create({ trace_id: traceId }, ending);
    expect((await giveWith(body.feedback_token, traceId)).status).toBe(201);
    await api.postgres('workspaces').where({ id: ending.workspaceId }).update({ deleted_at: new Date() });
    await until('refused', 5_000, async () => (await giveWith(body.feedback_token, traceId)).status === 401);
  });

  test('the replay of its creation has no token', async () => {
    const headers = { 'Idempotency-Key': `token-${newTraceId()}` };
    const options = { key: project.key, params: { project_id: project.id }, headers, body: { trace_id: newTraceId() } };
    expect((await api.call('createFeedbackToken', options)).status).toBe(201);
    const response = await fetch(`${api.url}/api/projects/${project.id}/feedback-tokens`, {
      method: 'POST',
      headers: { ...headers, 'X-API-Key': project.key, 'Content-Type': 'application/json' },
      body: JSON.stringify(options.body),
    });
    expect([response.status, Object.keys(JSON.parse(await response.text()))]).toEqual([
      201,
      ['trace_id', 'expires_at'],
    ]);
  });
});

describe('403', () => {
  test('a key without the scope', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['executions:read'] });
    expectProblem(await create({ trace_id: newTraceId() }, { ...project, key }), 403, 'insufficient_scope');
  });
});

describe('422', () => {
  test.each([
    [{}, 'trace_id'],
    [{ trace_id: 'x' }, 'trace_id'],
    [{ trace_id: newTraceId(), ttl_s: 59 }, 'ttl_s'],
    [{ trace_id: newTraceId(), ttl_s: 30 * 86_400 + 1 }, 'ttl_s'],
  ])('%j is refused by its path', async (body, path) => {
    const problem = expectProblem(await create(body), 422, 'invalid_body');
    expect(problem.errors?.map((fault) => fault.path)).toEqual([path]);
  });
});
