import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectRequestRedis, firstConnection, type Redis } from '../../src/stores/redis/client.ts';
import { createInvalidations } from '../../src/stores/redis/invalidations.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newKey, newProject, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { until } from '../support/until.ts';
import { newUser } from '../support/users.ts';

/** What is promised for every process. */
const inForceMsMax = 1_000;

let redis: Redis;
/** The one in this process, and two of their own. */
let api: TestApi;
let processes: OwnApi[];
let origins: string[];

beforeAll(async () => {
  api = await startApi();
  processes = await Promise.all([startOwnApi(api.config), startOwnApi(api.config)]);
  origins = processes.map(({ url }) => url);
  redis = connectRequestRedis(inject('redisUrl'));
  await firstConnection(redis);
});
afterAll(async () => {
  await Promise.all(processes?.map((each) => each.stop()) ?? []);
  redis?.disconnect();
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

describe('what one process does, two others act on within a second', () => {
  test('a revoked key, though it was used just before', async () => {
    const { id: projectId } = await newProject(api);
    const key = await newKey(api, projectId, {});
    const [path, headers] = ['/api/me/context', { 'X-API-Key': key.key }];
    expect(await statusesOf(path, headers)).toEqual([200, 200]);
    const { postgres, config } = api;
    const invalidations = createInvalidations({
      redisUrl: config.redisUrl,
      redis,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
    await postgres('api_keys').where({ id: key.id }).update({ revoked_at: new Date() });
    await invalidations.publish('api_key', key.id);
    expect(await inForceAfterMs(path, headers, 401)).toBeLessThan(inForceMsMax);
  });

  test('a key whose revocation nobody announced is still good: only the announcement makes it known so soon', async () => {
    const { id: projectId } = await newProject(api);
    const key = await newKey(api, projectId, {});
    const [path, headers] = ['/api/me/context', { 'X-API-Key': key.key }];
    expect(await statusesOf(path, headers)).toEqual([200, 200]);
    await api.postgres('api_keys').where({ id: key.id }).update({ revoked_at: new Date() });
    expect(await statusesOf(path, headers)).toEqual([200, 200]);
  });

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
