import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { until } from '../../support/until.ts';

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
  const create = (key: string) =>
    api.call('createApiKey', {
      params: { project_id: project.id },
      adminKey: api.config.adminApiKey,
      headers: { 'Idempotency-Key': key },
      body: { name: key },
    });
  const made = (name: string) => api.postgres('api_keys').where({ project_id: project.id, name });
  const untilDone = (key: string) =>
    until('the request runs again', 10_000, async () => {
      const answer = await create(key);
      return answer.status === 201 && answer;
    });

  test('is told as an outcome that is not known, and the same request does not make another under its key', async () => {
    // The first one begins the request under its key.
    proxy.loseCommit(2);
    const first = await create('one-key');
    expectProblem(first, 503, 'postgres_unavailable');
    expect(first.text).toContain('It is not known whether the change was stored');
    const again = await create('one-key');
    expectProblem(again, 409, 'idempotency_answer_lost');
    expect(again.text).toContain('took effect');
    expect(await made('one-key')).toHaveLength(1);
  });

  test('before the commit arrives leaves the key to the same request, which then takes effect once', async () => {
    proxy.loseCommit(2, { arrives: false });
    expectProblem(await create('not-stored'), 503, 'postgres_unavailable');
    const { text } = await untilDone('not-stored');
    expect(await made('not-stored')).toHaveLength(1);
    expect(text).toContain('not-stored');
  });

  test.each([true, false])(
    'while the request begins leaves the key to the same request (it arrives: %s)',
    async (arrives) => {
      const key = `begun-${arrives}`;
      proxy.loseCommit(1, { arrives });
      expectProblem(await create(key), 503, 'postgres_unavailable');
      expect(await made(key)).toEqual([]);
      await untilDone(key);
      expect(await made(key)).toHaveLength(1);
    },
  );

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
