import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { overrideCacheOf } from '../../../src/domains/pricing/index.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aPrice, putModelPrices } from '../../support/model-prices.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('own prices that have not changed are neither read nor compiled again', async () => {
  const cache = overrideCacheOf(api.postgres);
  const of = () => cache.of({ projectId: project.id, workspaceId: project.workspaceId });
  const aSecondLater = async () => {
    vi.advanceTimersByTime(1_000);
    return of();
  };
  expect((await of()).size).toBe(0);
  await putModelPrices(api, project, { prices: [aPrice] });
  const first = await aSecondLater();
  expect([...first.keys()]).toEqual([aPrice.model]);
  const results: unknown[] = [];
  const note = (rows: unknown) => results.push(rows);
  api.postgres.on('query-response', note);
  expect(await aSecondLater()).toBe(first);
  api.postgres.off('query-response', note);
  expect(results).toMatchObject([{ prices: null }]);
  await putModelPrices(api, project, { prices: [aPrice, { ...aPrice, model: 'other-model' }] });
  expect([...(await aSecondLater()).keys()]).toEqual([aPrice.model, 'other-model']);
});
