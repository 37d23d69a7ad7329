import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { aPrice, getModelPrices, putModelPrices } from '../../support/model-prices.ts';
import { latestAudit } from '../../support/users.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const put = (prices: unknown) => putModelPrices(api, project, { prices });

describe('200', () => {
  test('every field comes back as it was put, and what was left out is null', async () => {
    const full = {
      model: 'gpt-4o',
      provider: 'azure',
      input_per_million: '2.50',
      output_per_million: '10',
      cache_read_per_million: '1.25',
      cache_write_per_million: '0',
      reasoning_per_million: '12.000000001',
      effective_from: '2026-03-01T01:00:00+01:00',
    };
    const before = Date.now();
    const answer = await put([full, aPrice]);
    expect([answer.status, answer.body.prices]).toEqual([
      200,
      [
        { ...full, effective_from: '2026-03-01T00:00:00.000Z' },
        {
          ...aPrice,
          provider: null,
          cache_read_per_million: null,
          cache_write_per_million: null,
          reasoning_per_million: null,
          effective_from: null,
        },
      ],
    ]);
    expect(Date.parse(answer.body.updated_at ?? '')).toBeGreaterThanOrEqual(before);
    expect((await getModelPrices(api, project)).body).toEqual(answer.body);
  });

  test.each([
    [2.5, '2.5'],
    [0, '0'],
    [100_000, '100000'],
    [1e-9, '0.000000001'],
    [0.1, '0.1'],
    [30, '30'],
  ])('the number %d is the decimal %s', async (given, decimal) => {
    const { status, body } = await put([{ ...aPrice, input_per_million: given }]);
    expect([status, body.prices[0]?.input_per_million]).toEqual([200, decimal]);
  });

  test('the whole list is replaced, also by an empty one', async () => {
    await put([aPrice, { ...aPrice, model: 'other' }]);
    await put([{ ...aPrice, model: 'third' }]);
    expect((await getModelPrices(api, project)).body.prices.map(({ model }) => model)).toEqual(['third']);
    expect((await put([])).body.prices).toEqual([]);
    expect((await getModelPrices(api, project)).body).toEqual({ prices: [], updated_at: expect.any(String) });
  });

  test('one model may have many prices: by provider and from different times on', async () => {
    const { status } = await put([
      aPrice,
      { ...aPrice, provider: 'openai' },
      { ...aPrice, effective_from: '2026-01-01T00:00:00Z' },
      { ...aPrice, effective_from: '2026-02-01T00:00:00Z' },
    ]);
    expect(status).toBe(200);
  });

  test('of many lists put at once one remains, whole', async () => {
    const lists = Array.from({ length: 8 }, (_, list) =>
      Array.from({ length: 50 }, (_, index) => ({ ...aPrice, model: `list ${list} model ${index}` })),
    );
    const answers = await Promise.all(lists.map(put));
    expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200));
    const models = (await getModelPrices(api, project)).body.prices.map(({ model }) => model);
    expect(lists.map((list) => list.map(({ model }) => model))).toContainEqual(models);
  });

  test('500 prices with names of 256 characters are taken', async () => {
    const prices = Array.from({ length: 500 }, (_, index) => ({ ...aPrice, model: `${index}`.padStart(256, 'x') }));
    expect((await put(prices)).status).toBe(200);
  });
});

describe('400', () => {
  test('an unknown field is named, with the one that was meant', async () => {
    const problem = expectProblem(await put([{ ...aPrice, input_per_milion: '1' }]), 400, 'unknown_field');
    expect(problem.errors).toContainEqual(
      expect.objectContaining({
        path: 'prices[0].input_per_milion',
        message: expect.stringContaining('input_per_million'),
      }),
    );
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await putModelPrices(api, project, { prices: [] }, {}), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without budgets:write is refused and changes nothing', async () => {
    await put([aPrice]);
    const { key } = await newKey(api, project.id, { preset: 'read_only' });
    expectProblem(await putModelPrices(api, project, { prices: [] }, { key }), 403, 'insufficient_scope');
    expect((await getModelPrices(api, project)).body.prices).toHaveLength(1);
  });
});

describe('404', () => {
  test('another project is as if it were not there', async () => {
    const other = await newProject(api);
    expectProblem(await putModelPrices(api, other, { prices: [] }, { key: project.key }), 404, 'project_not_found');
  });
});

describe('422', () => {
  test.each<[string, unknown, string]>([
    ['no list', {}, 'prices'],
    ['no model', { prices: [{ input_per_million: 1, output_per_million: 1 }] }, 'prices[0].model'],
    ['an empty model', { prices: [{ ...aPrice, model: ' ' }] }, 'prices[0].model'],
    ['an endless model', { prices: [{ ...aPrice, model: 'x'.repeat(257) }] }, 'prices[0].model'],
    ['a model with NUL', { prices: [{ ...aPrice, model: 'a\u0000b' }] }, 'prices[0].model'],
    ['no output', { prices: [{ model: 'm', input_per_million: 1 }] }, 'prices[0].output_per_million'],
    ['a time that is none', { prices: [{ ...aPrice, effective_from: 'yesterday' }] }, 'prices[0].effective_from'],
    ['501 prices', { prices: Array.from({ length: 501 }, (_, i) => ({ ...aPrice, model: `${i}` })) }, 'prices'],
  ])('%s is refused, naming the field', async (_what, body, path) => {
    const problem = expectProblem(await putModelPrices(api, project, body), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test.each([-1, '-1', 100_000.1, '100001', '1e3', '0.0000000001', 1e-10, '1,5', '', ' 1', 'NaN', null, true, {}, '٣'])(
    'the price %j is refused, quoting what is allowed',
    async (price) => {
      const problem = expectProblem(await put([{ ...aPrice, output_per_million: price }]), 422, 'invalid_body');
      expect(problem.errors).toContainEqual(expect.objectContaining({ path: 'prices[0].output_per_million' }));
    },
  );

  test.each([
    ['by case', { ...aPrice, model: 'HOUSE-model' }, aPrice],
    ['by the provider’s alias', { ...aPrice, provider: 'azure' }, { ...aPrice, provider: 'azure.ai.openai' }],
    [
      'by the offset of its time',
      { ...aPrice, effective_from: '2026-01-01T00:00:00Z' },
      { ...aPrice, effective_from: '2026-01-01T01:00:00+01:00' },
    ],
  ])('a price given twice, different only %s, is refused and changes nothing', async (_how, one, other) => {
    await put([{ ...aPrice, model: 'stays' }]);
    const problem = expectProblem(await put([one, { ...aPrice, model: 'between' }, other]), 422, 'invalid_body');
    expect(problem.errors).toEqual([
      { path: 'prices[2]', code: 'duplicate', message: expect.stringContaining('prices[0]') },
    ]);
    expect((await getModelPrices(api, project)).body.prices.map(({ model }) => model)).toEqual(['stays']);
  });
});

test('who replaced them, how many by how many, is in the audit log of the workspace', async () => {
  await put([]);
  const answer = await put([aPrice, { ...aPrice, model: 'other' }]);
  const audited = await latestAudit(api, project.workspaceId);
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(audited).toMatchObject({
    actor_type: 'api_key',
    action: 'model_prices.replaced',
    target_id: project.id,
    details: { before: { prices: 0, sha256 }, after: { prices: 2, sha256 } },
    request_id: answer.headers.get('x-request-id'),
  });
});
