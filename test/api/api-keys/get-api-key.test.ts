import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { type ApiKeyOnWire, secretOf } from '../../support/api-keys.ts';

let api: TestApi;
let project: ProjectOfTest;
let other: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  [project, other] = [await newProject(api), await newProject(api)];
});
afterAll(() => api.close());

const get = (keyId: string, key = project.key) =>
  api.call<ApiKeyOnWire>('getApiKey', { params: { project_id: project.id, key_id: keyId }, key });

describe('200', () => {
  test('a key is as it was created, without its secret', async () => {
    const { key, ...created } = await newKey(api, project.id, {
      preset: 'ingest_only',
      expires_at: '2999-01-01T00:00:00Z',
    });
    const { status, body, text } = await get(created.id);
    expect(status).toBe(200);
    expect(body).toEqual({ ...created, last_used_at: null, revoked_at: null });
    expect(text).not.toContain(secretOf(key));
  });

  test('the time of its last use is there soon after a use, and to the minute', async () => {
    const used = await newKey(api, project.id, { preset: 'read_only' });
    const before = Date.now();
    expect((await get(used.id, used.key)).status).toBe(200);
    const readUse = async () => (await get(used.id)).body.last_used_at;
    await expect.poll(readUse, { timeout: 10_000 }).not.toBeNull();
    const noted = Date.parse((await readUse()) ?? '');
    expect(Math.abs(noted - before)).toBeLessThan(10_000);
  });
});

describe('404', () => {
  test('an unknown key and one of another project are alike', async () => {
    const [foreign, unknown] = [await newKey(api, other.id, {}), newId('key')];
    const answers = [await get(foreign.id), await get(unknown)];
    for (const answer of answers) expectProblem(answer, 404, 'api_key_not_found');
    const [a, b] = [foreign.id, unknown].map((id, index) =>
      String(answers[index]?.text.split('"instance"')[0]).replaceAll(id, 'ID'),
    );
    expect(a).toBe(b);
  });
});
