import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';

let proxy: PostgresProxy;
let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  proxy = await startPostgresProxy(inject('serviceDatabaseUrl'));
  api = await startApi({ databaseUrl: proxy.url });
  project = await newProject(api);
});
afterAll(async () => {
  await api.close();
  await proxy.close();
});

describe('while the database commits, a connection that is lost', () => {
  test('is told as an outcome that is not known, and the same request does not make another under its key', async () => {
    const create = () =>
      api.call('createApiKey', {
        params: { project_id: project.id },
        adminKey: api.config.adminApiKey,
        headers: { 'Idempotency-Key': 'one-key' },
        body: { name: 'made once' },
      });
    // The first one begins the request under its key.
    proxy.loseCommit(2);
    const first = await create();
    expectProblem(first, 503, 'postgres_unavailable');
    expect(first.text).toContain('It is not known whether the change was stored');
    expectProblem(await create(), 409, 'idempotency_answer_lost');
    const made = await api.postgres('api_keys').where({ project_id: project.id, name: 'made once' });
    expect(made).toHaveLength(1);
  });

  test('does not make an import a success', async () => {
    const into = await newProject(api);
    await api.admin(
      'createPrompt',
      { params: { project_id: project.id }, body: { name: 'a', type: 'text', template: 'x' } },
      201,
    );
    const path = ({ id }: ProjectOfTest, what: string) => `${api.url}/api/projects/${id}/prompts/${what}`;
    const exported = await fetch(path(project, 'export'), { headers: { 'X-API-Key': project.key } });
    const lines = await exported.text();
    const send = () =>
      fetch(path(into, 'import'), {
        method: 'POST',
        headers: { 'X-API-Key': into.key, 'Content-Type': 'application/x-ndjson' },
        body: lines,
      });
    proxy.loseCommit();
    expect((await send()).status).toBe(503);
    // It was committed all the same, so there is nothing left to add.
    const again = await send();
    expect([again.status, await again.json()]).toMatchObject([200, { prompts: { created: 0 } }]);
  });
});
