import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import type { ApiKeyOnWire } from '../../support/api-keys.ts';

interface Page {
  data: ApiKeyOnWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}
let api: TestApi;
let project: ProjectOfTest;
let other: ProjectOfTest;
const madeIds: string[] = [];

beforeAll(async () => {
  api = await startApi();
  [project, other] = [await newProject(api), await newProject(api)];
  for (let index = 0; index < 6; index++) madeIds.push((await newKey(api, project.id, { name: `k${index}` })).id);
});
afterAll(() => api.close());

const list = (query: Record<string, string | number> = {}, key = project.key, id = project.id) =>
  api.call<Page>('listApiKeys', { params: { project_id: id }, query, key });

describe('200', () => {
  test('keys come newest first, without their secrets', async () => {
    const { body, text } = await list();
    expect(body.data.map(({ id }) => id).slice(0, 6)).toEqual(madeIds.toReversed());
    expect(body.data).toHaveLength(7);
    expect(body.page).toEqual({ next_cursor: null, has_more: false, limit: 20 });
    expect(text).not.toContain(project.key);
    expect(Object.keys(body.data[0] ?? {}).sort()).toEqual(
      ['created_at', 'expires_at', 'id', 'last4', 'last_used_at', 'name', 'prefix', 'revoked_at', 'scopes'].sort(),
    );
  });

  test('pages hold every key once, also while keys are made', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body }: { body: Page } = await list({ limit: 2, ...(cursor === null ? {} : { cursor }) });
      seen.push(...body.data.map(({ id }) => id));
      cursor = body.page.next_cursor;
      if (seen.length === 2) await newKey(api, project.id, { name: 'meanwhile' });
    } while (cursor !== null);
    expect(seen.slice(0, 6)).toEqual(madeIds.toReversed());
    expect(new Set(seen).size).toBe(7);
  });

  test('a revoked key stays listed, with when', async () => {
    const { id } = await newKey(api, other.id, { name: 'gone' });
    await api.admin('revokeApiKey', { params: { project_id: other.id, key_id: id } }, 204);
    const { body } = await list({}, other.key, other.id);
    expect(body.data.find((key) => key.id === id)?.revoked_at).toEqual(expect.any(String));
  });

  test('another project sees its own keys only', async () => {
    const { body } = await list({}, other.key, other.id);
    expect(body.data.map(({ id }) => id)).not.toEqual(expect.arrayContaining([madeIds[0]]));
  });
});

describe('400', () => {
  test('a cursor of another project is not taken', async () => {
    const first = await list({ limit: 1 });
    const cursor = first.body.page.next_cursor ?? '';
    expectProblem(await list({ cursor }, other.key, other.id), 400, 'cursor_mismatch');
    expectProblem(await list({ cursor: 'x' }), 400, 'invalid_cursor');
  });
  test('a limit of 0 and an unknown parameter are refused', async () => {
    expectProblem(await list({ limit: 0 }), 400, 'invalid_parameter');
    expectProblem(await list({ revoked: 'true' }), 400, 'unknown_parameter');
  });
});

describe('401', () => {
  test('without credentials nothing is listed', async () => {
    expectProblem(await api.call('listApiKeys', { params: { project_id: project.id } }), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('a key without keys:read lists nothing', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['traces:write'] });
    expectProblem(await list({}, key), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('a foreign project and none are alike', async () => {
    expectProblem(await list({}, project.key, other.id), 404, 'project_not_found');
    expectProblem(await list({}, project.key, newId('prj')), 404, 'project_not_found');
  });
});
