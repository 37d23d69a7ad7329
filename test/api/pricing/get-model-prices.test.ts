import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aPrice, getModelPrices, putModelPrices } from '../../support/model-prices.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

describe('200', () => {
  test('a project that never had prices of its own has none', async () => {
    const { status, body } = await getModelPrices(api, await newProject(api));
    expect([status, body]).toEqual([200, { prices: [], updated_at: null }]);
  });

  test('what was put is answered, to a key that may only read and to the operator', async () => {
    await putModelPrices(api, project, { prices: [aPrice] });
    const reader = await newKey(api, project.id, { scopes: ['budgets:read'] });
    for (const credentials of [{ key: reader.key }, { adminKey: api.config.adminApiKey }]) {
      const { status, body } = await getModelPrices(api, project, credentials);
      expect([status, body.prices]).toEqual([200, [expect.objectContaining(aPrice)]]);
    }
  });

  test('another project does not see it', async () => {
    await putModelPrices(api, project, { prices: [aPrice] });
    expect((await getModelPrices(api, await newProject(api))).body.prices).toEqual([]);
  });
});

describe('400', () => {
  test('a parameter that does not exist is named', async () => {
    const answer = await api.call('getModelPrices', {
      params: { project_id: project.id },
      query: { model: 'x' },
      key: project.key,
    });
    expectProblem(answer, 400, 'unknown_parameter');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await getModelPrices(api, project, {}), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without budgets:read is refused', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['budgets:write', 'executions:read'] });
    expectProblem(await getModelPrices(api, project, { key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('another project is as if it were not there', async () => {
    const other = await newProject(api);
    expectProblem(await getModelPrices(api, other, { key: project.key }), 404, 'project_not_found');
    const unknown = { ...project, id: newId('prj') };
    expectProblem(await getModelPrices(api, unknown, { adminKey: api.config.adminApiKey }), 404, 'project_not_found');
  });
});
