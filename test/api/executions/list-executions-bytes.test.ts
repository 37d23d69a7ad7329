import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProject, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions } from '../../support/executions.ts';
import { listExecutions } from '../../support/traces.ts';

let api: TestApi;
let store: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  store = connectExecutions(api);
});
afterAll(async () => {
  await store.close();
  await api.close();
});

test('a summary of megabytes, as they were stored before they had a bound, is listed cut', async () => {
  const project = await newProject(api);
  const tags = Array.from({ length: 100_000 }, (_, index) => `tag number ${index}`);
  const large = anExecution(project, { tags, models: tags, name: 'large', sessionId: 's'.repeat(100_000) });
  const small = anExecution(project, { tags: ['one'], name: 'small' });
  await store.store([large, small]);
  const { status, text, body } = await listExecutions(api, project);
  expect(status, text.slice(0, 500)).toBe(200);
  expect(text.length).toBeLessThan(64 * 1024);
  const [one, other] = [large, small].map(({ traceId }) => body.data.find(({ trace_id }) => trace_id === traceId));
  expect(one).toMatchObject({ name: 'large', tags: tags.slice(0, 64), models: tags.slice(0, 64), status: 'ok' });
  expect(one?.session_id).toBe('s'.repeat(300));
  expect(other).toMatchObject({ name: 'small', tags: ['one'] });
});
