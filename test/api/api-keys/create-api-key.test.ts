import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { presets, scopes } from '../../../src/domains/auth/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { auditOf } from '../../support/api-keys.ts';
import { newUser } from '../../support/users.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

function create(
  body: unknown,
  credentials: { key?: string; adminKey?: string; token?: string } = { adminKey: api.config.adminApiKey },
) {
  return api.call('createApiKey', { params: { project_id: project.id }, body, ...credentials });
}

const soon = () => new Date(Date.now() + 3_600_000).toISOString();

describe('201', () => {
  test('a new key has the documented shape and says what it is', async () => {
    const created = await newKey(api, project.id, { name: 'ci' });
    expect(created).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^pl_[A-Za-z0-9]{8,12}_[A-Za-z0-9_-]{43}_[A-Za-z0-9]{6}$/),
      name: 'ci',
      prefix: created.key.slice(0, created.key.indexOf('_', 3)),
      last4: created.key.slice(-4),
      scopes: [...scopes],
      created_at: expect.any(String),
      expires_at: null,
    });
  });

  test.each(Object.entries(presets))('the preset %s gives its scopes', async (preset, expected) => {
    expect((await newKey(api, project.id, { preset })).scopes).toEqual([...expected]);
  });

  test('scopes are kept as given, each once', async () => {
    const given = ['executions:read', 'traces:write', 'executions:read'];
    expect((await newKey(api, project.id, { scopes: given })).scopes).toEqual(['executions:read', 'traces:write']);
  });

  test('an expiry with an offset is answered in UTC', async () => {
    const created = await newKey(api, project.id, { expires_at: '2999-01-01T02:00:00+02:00' });
    expect(created.expires_at).toBe('2999-01-01T00:00:00.000Z');
  });

  test('a null expiry is none', async () => {
    expect((await newKey(api, project.id, { expires_at: null })).expires_at).toBeNull();
  });

  test('the key works at once, within its project and scopes', async () => {
    const { key } = await newKey(api, project.id, { preset: 'read_only' });
    const answer = await api.call('listExecutions', { params: { project_id: project.id }, key });
    expect(answer.status).toBe(200);
  });

  test('an administrator of the workspace makes one, and the log names them', async () => {
    const { id, token } = await newUser(api, { workspaceId: project.workspaceId, role: 'admin' });
    const answer = await create({ name: 'by a user' }, { token });
    expect(answer.status).toBe(201);
    const [record] = await auditOf(api, project.workspaceId, Object(answer.body).id);
    expect(record).toMatchObject({ action: 'api_key.created', actor: { type: 'user', id } });
  });

  test('nothing stored contains the secret; its keyed digest is there', async () => {
    const { id, key } = await newKey(api, project.id, {});
    const row = await api.postgres('api_keys').where({ id }).first();
    const [, , secret = ''] = /^pl_([^_]+)_(.{43})_/.exec(key) ?? [];
    expect(secret).toHaveLength(43);
    expect(JSON.stringify(row)).not.toContain(secret);
    expect(row.secret_digest).toEqual(createHmac('sha256', api.config.apiKeyPepper).update(key).digest());
  });

  test('no two keys are alike', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => newKey(api, project.id, { name: 'same' })));
    expect(new Set(keys.map(({ key }) => key)).size).toBe(20);
  });
});

describe('400', () => {
  test('an unknown field is refused', async () => {
    expectProblem(await create({ name: 'x', scope: ['traces:write'] }), 400, 'unknown_field');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await create({ name: 'x' }, {}), 401, 'credentials_required');
  });
});

describe('403', () => {
  test.each(['member', 'viewer'] as const)('a %s of the workspace makes none', async (role) => {
    const { token } = await newUser(api, { workspaceId: project.workspaceId, role });
    expectProblem(await create({ name: 'x' }, { token }), 403, 'insufficient_role');
  });

  test('an API key of the project cannot make another', async () => {
    expectProblem(await create({ name: 'x' }, { key: project.key }), 403, 'admin_required');
  });
});

describe('404', () => {
  test('a project that does not exist is unknown', async () => {
    const params = { project_id: newId('prj') };
    const answer = await api.call('createApiKey', { params, body: { name: 'x' }, adminKey: api.config.adminApiKey });
    expectProblem(answer, 404, 'project_not_found');
  });
});

describe('422', () => {
  test.each([
    [{}, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: 'x', scopes: [] }, 'scopes'],
    [{ name: 'x', scopes: ['traces:write', 'all'] }, 'scopes[1]'],
    [{ name: 'x', scopes: 'traces:write' }, 'scopes'],
    [{ name: 'x', preset: 'everything' }, 'preset'],
    [{ name: 'x', preset: 'full', scopes: ['traces:write'] }, 'preset'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
    [{ name: 'x', expires_at: 1_900_000_000 }, 'expires_at'],
    [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', expires_at: '9999-12-31T23:59:59-14:00' }, 'expires_at'],
  ])('the body %j is refused, naming the field', async (body, path) => {
    const problem = expectProblem(await create(body), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test('an expiry in the future is not refused', async () => {
    expect((await create({ name: 'x', expires_at: soon() })).status).toBe(201);
  });
});
