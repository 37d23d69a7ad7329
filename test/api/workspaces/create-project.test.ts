import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isId, newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

function create(
  body: unknown,
  credentials: { key?: string; adminKey?: string } = { adminKey: api.config.adminApiKey },
) {
  return api.call('createProject', { params: { workspace_id: project.workspaceId }, body, ...credentials });
}

describe('201', () => {
  test('a new project is answered with its id, workspace, trimmed name and time', async () => {
    const params = { workspace_id: project.workspaceId };
    const created = await api.admin<Record<string, string>>('createProject', { params, body: { name: '  a b ' } }, 201);
    expect(created).toEqual({
      id: expect.stringMatching(/^prj_/),
      workspace_id: project.workspaceId,
      name: 'a b',
      is_default: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(isId('prj', created.id ?? '')).toBe(true);
  });

  test('the same name in another workspace is free', async () => {
    const other = await newProject(api);
    const params = { workspace_id: other.workspaceId };
    await api.admin('createProject', { params, body: { name: 'same' } }, 201);
    expect((await create({ name: 'same' })).status).toBe(201);
  });
});

describe('400', () => {
  test('an unknown field is named, with the one that was meant', async () => {
    const problem = expectProblem(await create({ nam: 'x' }), 400, 'unknown_field');
    expect(problem.errors).toContainEqual(
      expect.objectContaining({ path: 'nam', code: 'unknown_field', message: expect.stringContaining('name') }),
    );
  });

  test('a body that is not JSON is malformed_json', async () => {
    const response = await fetch(`${api.url}/api/workspaces/${project.workspaceId}/projects`, {
      method: 'POST',
      headers: { 'X-Admin-Key': api.config.adminApiKey, 'Content-Type': 'application/json' },
      body: '{"name":',
    });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'malformed_json' }]);
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    const answer = await create({ name: 'x' }, {});
    expectProblem(answer, 401, 'credentials_required');
    expect(answer.headers.get('www-authenticate')).toMatch(/\S/);
  });

  test('a wrong admin key is refused', async () => {
    expectProblem(await create({ name: 'x' }, { adminKey: `${api.config.adminApiKey}x` }), 401, 'invalid_credentials');
  });
});

describe('403', () => {
  test('an API key, whatever its scopes, is not enough', async () => {
    expectProblem(await create({ name: 'x' }, { key: project.key }), 403, 'admin_required');
  });
});

describe('404', () => {
  test.each([newId('wsp'), 'nonsense', "' or 1=1 --"])('the workspace %s is unknown', async (workspaceId) => {
    const options = { params: { workspace_id: workspaceId }, body: { name: 'x' }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('createProject', options), 404, 'workspace_not_found');
  });
});

describe('409', () => {
  test('a workspace has at most 1,000 projects', async () => {
    const own = await newProject(api);
    await api.postgres.raw(
      `insert into projects (id, workspace_id, name, is_default)
       select 'prj_of_' || cast(:id as text) || n, :id, 'p' || n, false from generate_series(1, 998) as n`,
      { id: own.workspaceId },
    );
    const createOne = (name: string) =>
      api.call('createProject', {
        params: { workspace_id: own.workspaceId },
        body: { name },
        adminKey: api.config.adminApiKey,
      });
    const statuses = (await Promise.all(['x', 'y', 'z'].map(createOne))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 409, 409]);
    expect(expectProblem(await createOne('w'), 409, 'too_many_projects')).toMatchObject({ limit: 1_000 });
  });

  test('a name that the workspace has is taken, also by one of many at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'popular' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    const problem = expectProblem(await create({ name: 'popular' }), 409, 'name_taken');
    expect(problem.detail).toContain('"popular"');
  });
});

describe('422', () => {
  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: '   ' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
  ])('the body %j is refused, naming the field', async (body, path) => {
    const problem = expectProblem(await create(body), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test('a name of the longest length is taken', async () => {
    expect((await create({ name: 'x'.repeat(200) })).status).toBe(201);
  });
});
