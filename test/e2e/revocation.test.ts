import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey, newProject, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { until } from '../support/until.ts';
import { newUser } from '../support/users.ts';

/** What is promised for every process. */
const inForceMsMax = 1_000;

/** The one in this process, and two of their own. */
let api: TestApi;
let processes: OwnApi[];
let origins: string[];

beforeAll(async () => {
  api = await startApi();
  processes = await Promise.all([startOwnApi(api.config), startOwnApi(api.config)]);
  origins = processes.map(({ url }) => url);
});
afterAll(async () => {
  await Promise.all(processes?.map((each) => each.stop()) ?? []);
  await api?.close();
});

const statusesOf = (path: string, headers: Record<string, string>) =>
  Promise.all(origins.map(async (origin) => (await fetch(origin + path, { headers })).status));

/** Waits until both processes answer so; after how long. */
async function inForceAfterMs(path: string, headers: Record<string, string>, status: number): Promise<number> {
  const startedAtMs = performance.now();
  await until(`both answer ${status}`, 30_000, async () =>
    (await statusesOf(path, headers)).every((each) => each === status),
  );
  return performance.now() - startedAtMs;
}

describe('Revoking is in force everywhere within a second: what one process does, two others act on', () => {
  test('a removed member', async () => {
    const { workspaceId } = await newProject(api);
    const owner = await newUser(api, { workspaceId, role: 'owner' });
    const member = await newUser(api, { workspaceId, role: 'member' });
    const [path, headers] = [`/api/workspaces/${workspaceId}/members`, { Authorization: `Bearer ${member.token}` }];
    expect(await statusesOf(path, headers)).toEqual([200, 200]);
    const params = { workspace_id: workspaceId, user_id: member.id };
    expect((await api.call('removeMember', { params, token: owner.token })).status).toBe(204);
    expect(await inForceAfterMs(path, headers, 404)).toBeLessThan(inForceMsMax);
  });

  test('a role taken away', async () => {
    const { workspaceId } = await newProject(api);
    const owner = await newUser(api, { workspaceId, role: 'owner' });
    const admin = await newUser(api, { workspaceId, role: 'owner' });
    const path = `/api/workspaces/${workspaceId}/members/${owner.id}`;
    const headers = { Authorization: `Bearer ${admin.token}`, 'Content-Type': 'application/json' };
    const change = async (origin: string) =>
      (await fetch(origin + path, { method: 'PATCH', headers, body: '{"role":"owner"}' })).status;
    expect(await Promise.all(origins.map(change))).toEqual([200, 200]);
    const params = { workspace_id: workspaceId, user_id: admin.id };
    await api.call('updateMember', { params, body: { role: 'viewer' }, token: owner.token });
    const startedAtMs = performance.now();
    await until('both refuse', 30_000, async () =>
      (await Promise.all(origins.map(change))).every((each) => each === 403),
    );
    expect(performance.now() - startedAtMs).toBeLessThan(inForceMsMax);
  });
});

/** One thing that takes access or content away: the request that shows it, and the row that changes. */
interface Taken {
  path: string;
  headers: Record<string, string>;
  /** What a request is answered afterwards. */
  status: number;
  /** The statement alone, which is all that a process leaves that dies right after its commit. */
  commit: () => Promise<unknown>;
}

const taken: Readonly<Record<string, (project: { id: string; workspaceId: string }) => Promise<Taken>>> = {
  'a key that is revoked': async ({ id }) => {
    const key = await newKey(api, id, {});
    const commit = () => api.postgres('api_keys').where({ id: key.id }).update({ revoked_at: new Date() });
    return { path: '/api/me/context', headers: { 'X-API-Key': key.key }, status: 401, commit };
  },
  'a key that expires sooner': async ({ id }) => {
    const key = await newKey(api, id, {});
    const commit = () =>
      api
        .postgres('api_keys')
        .where({ id: key.id })
        .update({ expires_at: new Date(0) });
    return { path: '/api/me/context', headers: { 'X-API-Key': key.key }, status: 401, commit };
  },
  'a scope taken from a key': async ({ id }) => {
    const key = await newKey(api, id, {});
    const commit = () =>
      api
        .postgres('api_keys')
        .where({ id: key.id })
        .update({ scopes: ['keys:read'] });
    const path = `/api/projects/${id}/prompts`;
    return { path, headers: { 'X-API-Key': key.key }, status: 403, commit };
  },
  'a key that is deleted': async ({ id }) => {
    const key = await newKey(api, id, {});
    const commit = () => api.postgres('api_keys').where({ id: key.id }).delete();
    return { path: '/api/me/context', headers: { 'X-API-Key': key.key }, status: 401, commit };
  },
  'a member who is removed': async ({ workspaceId }) => {
    const user = await newUser(api, { workspaceId, role: 'member' });
    const commit = () =>
      api
        .postgres('memberships')
        .where({ user_id: user.id, workspace_id: workspaceId })
        .update({ removed_at: new Date() });
    const path = `/api/workspaces/${workspaceId}/members`;
    return { path, headers: { Authorization: `Bearer ${user.token}` }, status: 404, commit };
  },
  'a user who is deleted': async ({ workspaceId }) => {
    const user = await newUser(api, { workspaceId, role: 'member' });
    const commit = () => api.postgres('users').where({ id: user.id }).update({ deleted_at: new Date() });
    const path = `/api/workspaces/${workspaceId}/members`;
    return { path, headers: { Authorization: `Bearer ${user.token}` }, status: 401, commit };
  },
  'a workspace that is deleted': async ({ id, workspaceId }) => {
    const key = await newKey(api, id, {});
    const commit = () => api.postgres('workspaces').where({ id: workspaceId }).update({ deleted_at: new Date() });
    return { path: '/api/me/context', headers: { 'X-API-Key': key.key }, status: 401, commit };
  },
  'a plan override': async ({ id, workspaceId }) => {
    const key = await newKey(api, id, {});
    const overrides = JSON.stringify({ rate_limits: { read: 0 } });
    const commit = () => api.postgres('workspaces').where({ id: workspaceId }).update({ plan_overrides: overrides });
    return { path: `/api/projects/${id}/prompts`, headers: { 'X-API-Key': key.key }, status: 429, commit };
  },
};

describe('what is committed by a process that dies before it can tell anybody is in force everywhere within a second', () => {
  test.each(Object.entries(taken))('%s', async (_name, prepare) => {
    const { path, headers, status, commit } = await prepare(await newProject(api));
    expect(await statusesOf(path, headers)).toEqual([200, 200]);
    await commit();
    expect(await inForceAfterMs(path, headers, status)).toBeLessThan(inForceMsMax);
  });

  test.each(['prompt', 'part'] as const)('a %s that is deleted, though it is rendered all the time', async (noun) => {
    const project = await newProject(api);
    const headers = { 'X-API-Key': project.key, 'Content-Type': 'application/json' };
    const create = async (collection: string, body: object): Promise<{ id: string }> => {
      const path = `${api.url}/api/projects/${project.id}/${collection}`;
      const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status).toBe(201);
      return (await response.json()) as { id: string };
    };
    const part = await create('parts', {
      name: 'greeting',
      slug: 'greeting',
      template: 'Hi',
      template_format: 'mustache',
    });
    const prompt = await create('prompts', {
      name: 'hello',
      slug: 'hello',
      type: 'text',
      template: '{{> greeting}} there',
      template_format: 'mustache',
    });
    const render = async (origin: string) => {
      const path = `${origin}/api/projects/${project.id}/prompts/hello/render`;
      return (await fetch(path, { method: 'POST', headers, body: '{}' })).status;
    };
    await until('both render it', 10_000, async () =>
      (await Promise.all(origins.map(render))).every((status) => status === 200),
    );
    const [table, id] = noun === 'prompt' ? ['prompts', prompt.id] : ['parts', part.id];
    await api.postgres(table).where({ id }).update({ deleted_at: new Date() });
    const committedAtMs = performance.now();
    await until('neither renders it', 30_000, async () =>
      (await Promise.all(origins.map(render))).every((status) => status >= 400),
    );
    expect(performance.now() - committedAtMs).toBeLessThan(inForceMsMax);
  });

  test('also while a transaction that began before lasts on, and what that one changes, too', async () => {
    const project = await newProject(api);
    const [first, second] = [await newKey(api, project.id, {}), await newKey(api, project.id, {})];
    const path = '/api/me/context';
    const headersOf = ({ key }: { key: string }) => ({ 'X-API-Key': key });
    const lasting = await api.postgres.transaction();
    try {
      await lasting('api_keys').where({ id: second.id }).update({ revoked_at: new Date() });
      expect(await statusesOf(path, headersOf(first))).toEqual([200, 200]);
      await api.postgres('api_keys').where({ id: first.id }).update({ revoked_at: new Date() });
      expect(await inForceAfterMs(path, headersOf(first), 401)).toBeLessThan(inForceMsMax);
      expect(await statusesOf(path, headersOf(second))).toEqual([200, 200]);
    } finally {
      await lasting.commit();
    }
    expect(await inForceAfterMs(path, headersOf(second), 401)).toBeLessThan(inForceMsMax);
  });
});
