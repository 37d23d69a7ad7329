import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordAudit } from '../../../src/domains/audit/index.ts';
import { newId, type WorkspaceId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { type AuditRecordOnWire, secretOf } from '../../support/api-keys.ts';

interface Page {
  data: AuditRecordOnWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}
let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const list = (query: Record<string, string | number> = {}, workspaceId = project.workspaceId) =>
  api.call<Page>('listAuditLog', {
    params: { workspace_id: workspaceId },
    query,
    adminKey: api.config.adminApiKey,
  });

describe('200', () => {
  test('what was done to a key is there, newest first, with who and by which request', async () => {
    const created = await newKey(api, project.id, { name: 'watched', preset: 'read_only' });
    const params = { project_id: project.id, key_id: created.id };
    await api.call('revokeApiKey', { params, adminKey: api.config.adminApiKey, headers: { 'X-Request-Id': 'req-7' } });
    const [newest, before] = (await list()).body.data;
    expect(newest).toEqual({
      id: expect.stringMatching(/^evt_/),
      at: expect.stringMatching(/Z$/),
      actor: { type: 'admin', id: null },
      action: 'api_key.revoked',
      target: { type: 'api_key', id: created.id },
      project_id: project.id,
      details: { name: 'watched' },
      request_id: 'req-7',
    });
    expect(before).toMatchObject({
      action: 'api_key.created',
      details: { name: 'watched', scopes: created.scopes, expires_at: null },
    });
    expect(JSON.stringify((await list()).body)).not.toContain(secretOf(created.key));
  });

  test('an entry of a transaction that takes long comes after those that could be read meanwhile', async () => {
    const { workspaceId } = await newProject(api);
    const actor = { type: 'admin', id: null, requestId: null } as const;
    const entry = { workspaceId, actor, targetType: 'project', targetId: 'x' };
    await api.postgres.transaction(async (transaction) => {
      await transaction.raw('select 1');
      await recordAudit(api.postgres, { ...entry, action: 'key.short' });
      await recordAudit(transaction, { ...entry, action: 'key.long' });
    });
    const { data } = (await list({ limit: 2 }, workspaceId)).body;
    expect(data.map(({ action }) => action)).toEqual(['key.long', 'key.short']);
  });

  test('filters hold together: action, actor and time', async () => {
    const { workspaceId, id } = await newProject(api);
    const actor = { type: 'user', id: newId('usr'), requestId: null } as const;
    const entry = { workspaceId: workspaceId as WorkspaceId, targetType: 'member', targetId: 'x' };
    await recordAudit(api.postgres, { ...entry, actor, action: 'member.added' });
    await recordAudit(api.postgres, { ...entry, actor: { ...actor, id: newId('usr') }, action: 'member.added' });
    await newKey(api, id, {});
    const count = async (query: Record<string, string>) => (await list(query, workspaceId)).body.data.length;
    expect(await count({ actor: actor.id })).toBe(1);
    expect(await count({ actor: 'user' })).toBe(2);
    expect(await count({ action: 'member.added', actor: 'admin' })).toBe(0);
    const [first] = (await list({ actor: actor.id }, workspaceId)).body.data;
    const at = first?.at ?? '';
    expect(await count({ actor: actor.id, from: at })).toBe(1);
    expect(await count({ actor: actor.id, to: at })).toBe(0);
    expect(await count({ to: '2020-01-01T00:00:00Z' })).toBe(0);
  });

  test('pages hold every record once, also those of one instant', async () => {
    const { workspaceId } = await newProject(api);
    const actor = { type: 'system', id: null, requestId: null } as const;
    const ids = Array.from({ length: 9 }, (_, index) => `t${index}`);
    await api.postgres.transaction(async (transaction) => {
      for (const targetId of ids) {
        await recordAudit(transaction, {
          workspaceId: workspaceId as WorkspaceId,
          actor,
          action: 'test.done',
          targetType: 'test',
          targetId,
        });
      }
    });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: Record<string, string | number> = {
        limit: 2,
        action: 'test.done',
        ...(cursor === null ? {} : { cursor }),
      };
      const { body }: { body: Page } = await list(query, workspaceId);
      seen.push(...body.data.map(({ target }) => target.id));
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    expect(seen.sort()).toEqual(ids);
  });
});

describe('400', () => {
  test('a cursor of other filters, a time that is none', async () => {
    await newKey(api, project.id, {});
    await newKey(api, project.id, {});
    const { body } = await list({ limit: 1 });
    const cursor = body.page.next_cursor ?? '';
    expectProblem(await list({ cursor, action: 'api_key.created' }), 400, 'cursor_mismatch');
    expectProblem(await list({ from: 'yesterday' }), 400, 'invalid_parameter');
  });
});

describe('401 and 403', () => {
  test('without credentials it is asked for them, and a key may not read it', async () => {
    const params = { workspace_id: project.workspaceId };
    expectProblem(await api.call('listAuditLog', { params }), 401, 'credentials_required');
    expectProblem(await api.call('listAuditLog', { params, key: project.key }), 403, 'admin_required');
  });
});
