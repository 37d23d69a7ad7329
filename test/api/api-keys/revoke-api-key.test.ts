import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { auditOf, opens } from '../../support/api-keys.ts';

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

const revoke = (
  keyId: string,
  credentials: { key?: string; adminKey?: string } = { adminKey: api.config.adminApiKey },
) => api.call('revokeApiKey', { params: { project_id: project.id, key_id: keyId }, ...credentials });

describe('204', () => {
  test('a revoked key is refused within a second, also by another process that knew it', async () => {
    const { id, key } = await newKey(api, project.id, { preset: 'read_only' });
    expect([await opens(api, project.id, key), await opens(twin, project.id, key)]).toEqual([true, true]);
    const answer = await revoke(id);
    const revokedAtMs = performance.now();
    expect([answer.status, answer.text]).toEqual([204, '']);
    await expect.poll(() => opens(twin, project.id, key), { interval: 20, timeout: 2_000 }).toBe(false);
    await expect.poll(() => opens(api, project.id, key), { interval: 20, timeout: 2_000 }).toBe(false);
    expect(performance.now() - revokedAtMs).toBeLessThan(1_000);
  });

  test('again is 204 again, keeps the first time and is noted once', async () => {
    const { id } = await newKey(api, project.id, { name: 'once' });
    await revoke(id);
    const read = async () => (await api.postgres('api_keys').where({ id }).first('revoked_at'))?.revoked_at;
    const first = await read();
    expect((await revoke(id)).status).toBe(204);
    expect(await read()).toEqual(first);
    const records = await auditOf(api, project.workspaceId, id);
    expect(records.map(({ action }) => action)).toEqual(['api_key.created', 'api_key.revoked']);
    expect(records[1]).toMatchObject({
      actor: { type: 'admin', id: null },
      project_id: project.id,
      details: { name: 'once' },
      request_id: expect.any(String),
    });
  });

  test('by many at once is one revocation', async () => {
    const { id } = await newKey(api, project.id, {});
    const answers = await Promise.all(Array.from({ length: 8 }, () => revoke(id)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 204));
    expect(await auditOf(api, project.workspaceId, id)).toHaveLength(2);
  });
});

describe('401', () => {
  test('without credentials nothing is revoked', async () => {
    const { id, key } = await newKey(api, project.id, { preset: 'read_only' });
    expectProblem(await revoke(id, {}), 401, 'credentials_required');
    expect(await opens(api, project.id, key)).toBe(true);
  });
});

describe('403', () => {
  test('a key cannot revoke, itself neither', async () => {
    const { id, key } = await newKey(api, project.id, {});
    expectProblem(await revoke(id, { key }), 403, 'admin_required');
  });
});

describe('404', () => {
  test('a key that never was, and one of another project, which lives on', async () => {
    const other = await newProject(api);
    const { id, key } = await newKey(api, other.id, { preset: 'read_only' });
    expectProblem(await revoke(newId('key')), 404, 'api_key_not_found');
    expectProblem(await revoke(id), 404, 'api_key_not_found');
    expect(await opens(api, other.id, key)).toBe(true);
  });
});
