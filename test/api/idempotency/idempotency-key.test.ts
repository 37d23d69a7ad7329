import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CreatedKey,
  expectProblem,
  newProject,
  type ProjectOfTest,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import { secretOf } from '../../support/api-keys.ts';

let api: TestApi;
let twin: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  twin = await startApi({ apiKeyPepper: api.config.apiKeyPepper, adminApiKey: api.config.adminApiKey });
  project = await newProject(api);
});
afterAll(async () => {
  await Promise.all([api.close(), twin.close()]);
});

function create(key: string, body: object, { at = api, in: { id } = project } = {}) {
  return at.call<CreatedKey>('createApiKey', {
    params: { project_id: id },
    body,
    adminKey: api.config.adminApiKey,
    headers: { 'Idempotency-Key': key },
  });
}
const named = (name: string) => api.postgres('api_keys').where({ project_id: project.id, name });
const rowOf = (key: string) => api.postgres('idempotency_keys').where({ tenant: project.id, key });

describe('the same request again', () => {
  test('is answered by any process as the first was, without the secret, and makes nothing', async () => {
    const key = randomUUID();
    const first = await create(key, { name: key });
    const second = await create(key, { name: key }, { at: twin });
    const { key: secret, ...shown } = first.body;
    expect([second.status, second.body]).toEqual([201, shown]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await named(key)).toHaveLength(1);
    expect(String((await rowOf(key))[0]?.content)).not.toContain(secretOf(secret));
  });

  test('forty times at once over two processes makes one key; the others wait or get its answer', async () => {
    const key = randomUUID();
    const at = (index: number) => (index % 2 === 0 ? api : twin);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => create(key, { name: key }, { at: at(index) })),
    );
    const fresh = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'));
    expect(fresh).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status !== 201) expectProblem(answer, 409, 'idempotency_in_flight');
      else expect(answer.body.id).toBe(fresh[0]?.body.id);
    }
    expect(await named(key)).toHaveLength(1);
  });

  test('in another project is another request', async () => {
    const [key, other] = [randomUUID(), await newProject(api)];
    const answers = [await create(key, { name: key }), await create(key, { name: key }, { in: other })];
    expect(answers.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, null]);
  });

  test('after a day is a new request', async () => {
    const key = randomUUID();
    await create(key, { name: key });
    await rowOf(key).update({ expires_at: api.postgres.raw('now()') });
    const again = await create(key, { name: `${key} again` });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect((await create(key, { name: `${key} again` })).body.id).toBe(again.body.id);
  });
});

describe('409', () => {
  test('a first request that died is never repeated, and its outcome is called unknown', async () => {
    const key = randomUUID();
    await create(key, { name: key });
    // As a killed process leaves it: the key made, its answer not stored.
    await rowOf(key).update({ status: null, started_at: api.postgres.raw("now() - interval '10 minutes'") });
    const answer = await create(key, { name: key }, { at: twin });
    expect(expectProblem(answer, 409, 'idempotency_answer_lost').detail).toContain('not known');
    expect(await named(key)).toHaveLength(1);
  });
});

describe('422', () => {
  test('another body under the same key is refused', async () => {
    const key = randomUUID();
    await create(key, { name: key });
    expectProblem(await create(key, { name: 'else' }), 422, 'idempotency_key_reused');
  });
});

test('expired answers are removed by later requests', async () => {
  const keys = Array.from({ length: 4 }, () => randomUUID());
  for (const key of keys) await create(key, { name: 'pruned' });
  await api
    .postgres('idempotency_keys')
    .whereIn('key', keys)
    .update({ expires_at: new Date(0) });
  await create(randomUUID(), { name: 'prunes' });
  expect(await api.postgres('idempotency_keys').whereIn('key', keys)).toEqual([]);
});
