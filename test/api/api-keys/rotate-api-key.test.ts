import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import {
  type Answer,
  type CreatedKey,
  expectProblem,
  newKey,
  newProject,
  type ProjectOfTest,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import { auditOf, opens } from '../../support/api-keys.ts';

interface RotatedKey extends CreatedKey {
  previous: { id: string; ends_at: string };
}
let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

function rotate(keyId: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<RotatedKey>> {
  const params = { project_id: project.id, key_id: keyId };
  return api.call<RotatedKey>('rotateApiKey', { params, body, headers, adminKey: api.config.adminApiKey });
}
const readable = { preset: 'read_only' } as const;

describe('201', () => {
  test('without an overlap the new secret works and the old one does not', async () => {
    const old = await newKey(api, project.id, { ...readable, name: 'ci', expires_at: '2999-01-01T00:00:00Z' });
    expect(await opens(api, project.id, old.key)).toBe(true);
    const { status, body } = await rotate(old.id);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'ci',
      scopes: old.scopes,
      expires_at: old.expires_at,
      previous: { id: old.id },
    });
    expect([body.id === old.id, body.key === old.key]).toEqual([false, false]);
    expect(await opens(api, project.id, body.key)).toBe(true);
    await expect.poll(() => opens(api, project.id, old.key), { interval: 20, timeout: 1_000 }).toBe(false);
  });

  test('with an overlap both work, the old one until its end', async () => {
    const old = await newKey(api, project.id, readable);
    const { body } = await rotate(old.id, { overlap_s: 3_600 });
    expect([await opens(api, project.id, old.key), await opens(api, project.id, body.key)]).toEqual([true, true]);
    expect(Math.abs(Date.parse(body.previous.ends_at) - Date.now() - 3_600_000)).toBeLessThan(20_000);
    expect(body.expires_at).toBeNull();
    const stored = await api.postgres('api_keys').where({ id: old.id }).first('expires_at', 'revoked_at');
    expect(stored).toEqual({ expires_at: new Date(body.previous.ends_at), revoked_at: null });
  });

  test('the old one is refused once its overlap is over', async () => {
    const old = await newKey(api, project.id, readable);
    await rotate(old.id, { overlap_s: 1 });
    await expect.poll(() => opens(api, project.id, old.key), { interval: 20, timeout: 5_000 }).toBe(false);
  });

  test('an overlap never prolongs the life of a key that ends sooner', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const old = await newKey(api, project.id, { expires_at: expiresAt });
    const { body } = await rotate(old.id, { overlap_s: 2_592_000 });
    expect([body.previous.ends_at, body.expires_at]).toEqual([expiresAt, expiresAt]);
  });

  test('is noted, with its successor and without a secret', async () => {
    const old = await newKey(api, project.id, {});
    const { body } = await rotate(old.id, { overlap_s: 60 });
    const records = await auditOf(api, project.workspaceId, old.id);
    expect(records.at(-1)).toMatchObject({
      action: 'api_key.rotated',
      details: { replaced_by: body.id, overlap_s: 60 },
    });
    expect(JSON.stringify(records)).not.toContain(body.key);
  });

  test('repeated with an idempotency key rotates once, and the replay has no secret', async () => {
    const old = await newKey(api, project.id, readable);
    const first = await rotate(old.id, {}, { 'Idempotency-Key': old.id });
    const second = await rotate(old.id, {}, { 'Idempotency-Key': old.id });
    const { key, ...shown } = first.body;
    expect([second.status, second.body]).toEqual([201, shown]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await opens(api, project.id, key)).toBe(true);
  });

  test('twice at once without an overlap has one winner', async () => {
    const old = await newKey(api, project.id, {});
    const answers = await Promise.all([rotate(old.id), rotate(old.id), rotate(old.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test('ten times at once with an overlap has one winner, which keeps the expiry of the old one', async () => {
    const old = await newKey(api, project.id, readable);
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(old.id, { overlap_s: 60 })));
    const [winner, ...others] = answers.sort((a, b) => a.status - b.status);
    expect(winner).toMatchObject({ status: 201, body: { expires_at: null } });
    expect(others).toHaveLength(9);
    for (const other of others) expect(expectProblem(other, 409, 'conflict').detail).toContain(winner?.body.id);
    expect((await rotate(winner?.body.id ?? '', { overlap_s: 60 })).status).toBe(201);
  });
});

describe('403', () => {
  test('a key cannot rotate itself', async () => {
    const { id, key } = await newKey(api, project.id, {});
    expectProblem(
      await api.call('rotateApiKey', { params: { project_id: project.id, key_id: id }, key }),
      403,
      'admin_required',
    );
  });
});

describe('404', () => {
  test('a key that never was and one of another project', async () => {
    const foreign = await newKey(api, (await newProject(api)).id, {});
    for (const id of [newId('key'), foreign.id]) expectProblem(await rotate(id), 404, 'api_key_not_found');
  });
});

describe('409', () => {
  test('a revoked key and an expired one are not brought back', async () => {
    const [revoked, expired] = [await newKey(api, project.id, {}), await newKey(api, project.id, {})];
    await api.admin('revokeApiKey', { params: { project_id: project.id, key_id: revoked.id } }, 204);
    await api
      .postgres('api_keys')
      .where({ id: expired.id })
      .update({ expires_at: new Date(Date.now() - 1) });
    expect(expectProblem(await rotate(revoked.id), 409, 'conflict').detail).toContain('revoked');
    expect(expectProblem(await rotate(expired.id), 409, 'conflict').detail).toContain('expired');
  });
});

describe('400 and 422', () => {
  test.each([-1, 1.5, 2_592_001, '60', null])('an overlap of %j is refused', async (overlap) => {
    const problem = expectProblem(await rotate(newId('key'), { overlap_s: overlap }), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path: 'overlap_s' }));
  });
  test('an unknown field is refused', async () => {
    expectProblem(await rotate(newId('key'), { overlap: 1 }), 400, 'unknown_field');
  });
});
