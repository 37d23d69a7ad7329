import { randomUUID } from 'node:crypto';
import { get, type OutgoingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiProcess } from '../../../src/api/process.ts';
import { presets, scopes } from '../../../src/domains/auth/index.ts';
import { listen } from '../../../src/http/server.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { addMember, newUser, tokenFor } from '../../support/users.ts';

interface Context {
  auth_type: string;
  user?: { id: string; subject: string; email: string | null; name: string | null };
  role?: string;
  key?: { id: string; name: string; expires_at: string | null };
  workspace: { id: string; name: string; plan: string } | null;
  default_project_id: string | null;
  projects: { id: string; name: string; is_default: boolean }[];
  scopes: string[];
  server_time: string;
}

let api: TestApi;
let project: ProjectOfTest;
beforeAll(async () => {
  api = await startApi({ defaultPlan: 'pro' });
  project = await newProject(api, 'team');
});
afterAll(() => api.close());

const context = (credential: { key?: string; token?: string; adminKey?: string }) =>
  api.call<Context>('getContext', credential);

/** An organization's workspace as the identity provider would have announced it. */
async function newOrganization(): Promise<{ workspaceId: string; orgId: string }> {
  const [workspaceId, orgId] = [newId('wsp'), `org_${randomUUID()}`];
  await api.postgres('workspaces').insert({ id: workspaceId, name: orgId, plan: 'team', external_org_id: orgId });
  await api
    .postgres('projects')
    .insert({ id: newId('prj'), workspace_id: workspaceId, name: 'default', is_default: true });
  return { workspaceId, orgId };
}

describe('200', () => {
  test('a key is told its workspace, its own project alone and its scopes', async () => {
    await api.admin('createProject', { params: { workspace_id: project.workspaceId }, body: { name: 'other' } }, 201);
    const expiresAt = '2099-01-01T00:00:00.000Z';
    const key = await newKey(api, project.id, { name: 'reader', preset: 'read_only', expires_at: expiresAt });
    const { status, body } = await context({ key: key.key });
    expect(status).toBe(200);
    expect(body).toEqual({
      auth_type: 'api_key',
      key: { id: key.id, name: 'reader', expires_at: expiresAt },
      workspace: { id: project.workspaceId, name: expect.stringContaining('test'), plan: 'team' },
      default_project_id: project.id,
      projects: [{ id: project.id, name: 'test', is_default: false }],
      scopes: scopes.filter((scope) => presets.read_only.some((each) => each === scope)),
      server_time: expect.any(String),
    });
    expect(Math.abs(Date.parse(body.server_time) - Date.now())).toBeLessThan(5_000);
  });

  test('a user never seen gets a personal workspace on the default plan, with a default project, and owns it', async () => {
    const subject = `user_${randomUUID()}`;
    const token = tokenFor(api, subject, { email: 'ada@example.test', name: 'Ada' });
    const { status, body } = await context({ token });
    expect(status).toBe(200);
    const [defaultProject] = body.projects;
    expect(body).toMatchObject({
      auth_type: 'jwt',
      role: 'owner',
      user: { subject, email: 'ada@example.test', name: 'Ada' },
      workspace: { name: 'Personal', plan: 'pro' },
      default_project_id: defaultProject?.id,
      projects: [{ name: 'default', is_default: true }],
      scopes,
    });
    expect((await context({ token: tokenFor(api, subject) })).body.workspace).toEqual(body.workspace);
  });

  test('a user first seen by many requests at once, in two processes, gets one of each', async () => {
    const other = createApiProcess(api.config);
    await other.start();
    const server = await listen({ app: other.app, port: 0, host: '127.0.0.1' });
    try {
      const subject = `user_${randomUUID()}`;
      const headers = { Authorization: `Bearer ${tokenFor(api, subject)}` };
      const answers = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const origin = index % 2 === 0 ? api.url : `http://127.0.0.1:${server.port}`;
          const response = await fetch(`${origin}/api/me/context`, { headers });
          return { status: response.status, body: (await response.json()) as Context };
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ body }) => JSON.stringify([body.user, body.workspace, body.projects]))).size).toBe(
        1,
      );
      const owned = await api
        .postgres('workspaces')
        .join('users', 'users.id', 'workspaces.owner_user_id')
        .join('projects', 'projects.workspace_id', 'workspaces.id')
        .where({ subject });
      expect(owned).toHaveLength(1);
    } finally {
      await server.close(1_000);
      await other.close();
    }
  });

  test('a user announced before their first request gets a personal workspace all the same', async () => {
    const user = await newUser(api);
    const { body } = await context({ token: user.token });
    expect(body).toMatchObject({ user: { id: user.id, name: 'Test' }, role: 'owner', workspace: { name: 'Personal' } });
  });

  test('a token acts in the organization it names, with the role there', async () => {
    const { workspaceId, orgId } = await newOrganization();
    const user = await newUser(api, { workspaceId, role: 'viewer' });
    const { body } = await context({ token: tokenFor(api, user.subject, { org_id: orgId }) });
    expect(body).toMatchObject({ role: 'viewer', workspace: { id: workspaceId, plan: 'team' }, scopes: body.scopes });
    expect(body.scopes.sort()).toEqual(['analytics:read', 'budgets:read', 'executions:read', 'prompts:read']);
    expect((await context({ token: user.token })).body.workspace?.id).not.toBe(workspaceId);
  });

  test('a role given elsewhere counts as soon as it is announced or five seconds are over', async () => {
    const { workspaceId, orgId } = await newOrganization();
    const user = await newUser(api);
    const token = tokenFor(api, user.subject, { org_id: orgId });
    expectProblem(await context({ token }), 403, 'organization_not_accessible');
    await addMember(api.postgres, user.id, { workspaceId, role: 'member' });
    await expect.poll(async () => (await context({ token })).status, { timeout: 7_000, interval: 200 }).toBe(200);
  });

  test('the use of a key is written down soon after', async () => {
    const key = await newKey(api, project.id, {});
    const lastUse = () => api.postgres('api_keys').where({ id: key.id }).first('last_used_at');
    expect(await lastUse()).toEqual({ last_used_at: null });
    await context({ key: key.key });
    await expect.poll(lastUse, { timeout: 3_000 }).toEqual({ last_used_at: expect.any(Date) });
  });

  test('the operator acts in no workspace', async () => {
    const { body } = await context({ adminKey: api.config.adminApiKey });
    expect(body).toMatchObject({ auth_type: 'admin', workspace: null, default_project_id: null, projects: [], scopes });
  });
});

describe('401', () => {
  const valid = () => ({ key: project.key, token: tokenFor(api, 'user_x'), adminKey: api.config.adminApiKey });

  test('without a credential one is asked for, with a challenge', async () => {
    const answer = await context({});
    expectProblem(answer, 401, 'credentials_required');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  test.each<[string, (good: ReturnType<typeof valid>) => Partial<ReturnType<typeof valid>>]>([
    ['key and token', ({ key, token }) => ({ key, token })],
    ['key and admin key', ({ key, adminKey }) => ({ key, adminKey })],
    ['token and admin key', ({ token, adminKey }) => ({ token, adminKey })],
    ['all three', (good) => good],
    ['a good key and a bad token', ({ key }) => ({ key, token: 'x' })],
  ])('several credentials are refused, though each is good: %s', async (_what, pick) => {
    expectProblem(await context(pick(valid())), 401, 'invalid_credentials');
  });

  test.each(['X-API-Key', 'Authorization', 'X-Admin-Key'])('a credential sent twice is refused: %s', async (name) => {
    const { key, token, adminKey } = valid();
    const value = { 'X-API-Key': key, Authorization: `Bearer ${token}`, 'X-Admin-Key': adminKey }[name] ?? '';
    expect(await statusOf({ [name]: [value, value] })).toBe(401);
    expect(await statusOf({ [name]: [value] })).toBe(200);
  });

  test.each(['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer a b', 'bearer', 'Token x', 'Bearer ,'])(
    'an Authorization of another form is refused: %s',
    async (authorization) => {
      const response = await fetch(`${api.url}/api/me/context`, { headers: { Authorization: authorization } });
      expect([response.status, await response.json()]).toMatchObject([401, { code: 'invalid_credentials' }]);
    },
  );

  test('an expired token is refused', async () => {
    const token = tokenFor(api, 'user_x', { exp: Math.floor(Date.now() / 1000) - 60 });
    expectProblem(await context({ token }), 401, 'invalid_credentials');
  });

  test('a deleted user is refused, and gets no workspace', async () => {
    const user = await newUser(api);
    await api.postgres('users').where({ id: user.id }).update({ deleted_at: new Date() });
    expectProblem(await context({ token: user.token }), 401, 'invalid_credentials');
    expect(await api.postgres('workspaces').where({ owner_user_id: user.id })).toEqual([]);
  });

  test('a key of a deleted workspace is refused', async () => {
    const gone = await newProject(api);
    await api.postgres('workspaces').where({ id: gone.workspaceId }).update({ deleted_at: new Date() });
    expectProblem(await context({ key: gone.key }), 401, 'invalid_credentials');
  });
});

describe('403', () => {
  test('an organization nobody has announced and one of others are refused in the same words', async () => {
    const { orgId } = await newOrganization();
    const subject = `user_${randomUUID()}`;
    const problems = await Promise.all(
      [orgId, `org_${randomUUID()}`].map(async (named) => {
        const answer = await context({ token: tokenFor(api, subject, { org_id: named, org_role: 'org:admin' }) });
        return { ...expectProblem(answer, 403, 'organization_not_accessible'), request_id: '' };
      }),
    );
    expect(problems[0]).toEqual(problems[1]);
  });
});

/** By node:http, which sends a header of two values as two lines; fetch would join them. */
function statusOf(headers: OutgoingHttpHeaders): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${api.url}/api/me/context`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.once('error', reject);
  });
}
