import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { recordAudit } from '../../../src/domains/audit/index.ts';
import { applyIdentityEvent } from '../../../src/domains/identity/apply-identity-event.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, startApi, type TestApi } from '../../support/api.ts';
import type { AuditRecordOnWire } from '../../support/api-keys.ts';
import { failIdentityEvent, identityEvent } from '../../support/identity-state.ts';
import { newUser } from '../../support/users.ts';

interface Page {
  data: AuditRecordOnWire[];
  page: { next_cursor: string | null };
}
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

type Query = Record<string, string | number>;
const call = (query: Query = {}) => api.call<Page>('listServiceAuditLog', { query, adminKey: api.config.adminApiKey });
const list = async (query: Query = {}) => (await call({ limit: 100, ...query })).body.data;

/** Records entries of a new actor that belong to no workspace, and returns the id of the actor. */
async function recordAs(targetIds: readonly string[]): Promise<string> {
  const actor = { type: 'user', id: newId('usr'), requestId: null } as const;
  for (const targetId of targetIds) {
    const entry = { workspaceId: null, actor, action: 'test.done', targetType: 'test', targetId };
    await recordAudit(api.postgres, entry);
  }
  return actor.id;
}

describe('200', () => {
  test('what an identity provider said of a user is there, newest first, with the id of the event', async () => {
    const user = { kind: 'user', subject: `user_${randomUUID()}`, email: null, name: null } as const;
    const events = [
      identityEvent(1_000, { ...user, verb: 'created' }),
      identityEvent(2_000, { ...user, verb: 'deleted' }),
    ];
    for (const event of events) await applyIdentityEvent({ postgres: api.postgres, defaultPlan: 'free' }, event);
    const { id } = await api.postgres('users').where({ subject: user.subject }).first('id');
    const told = (await list({ actor: 'generic' })).filter(({ target }) => target.id === id);
    expect(told).toMatchObject([
      { action: 'user.deleted', actor: { type: 'identity_provider' }, details: { event_id: events[1]?.eventId } },
      { action: 'user.created', target: { type: 'user', id }, details: { event_id: events[0]?.eventId } },
    ]);
  });

  test('so is who tried a failed event again', async () => {
    const failed = await failIdentityEvent(inject('redisUrl'));
    await api.admin('retryFailedIdentityEvent', { params: { failed_event_id: failed } }, 202);
    const [entry] = (await list({ action: 'identity_event.retried' })).filter(({ target }) => target.id === failed);
    expect(entry).toMatchObject({ actor: { type: 'admin', id: null }, target: { type: 'identity_event', id: failed } });
  });

  test('what belongs to a workspace is not', async () => {
    const { id: keyId } = await newKey(api, (await newProject(api)).id, {});
    const of = (entries: AuditRecordOnWire[]) => entries.filter(({ target }) => target.id === keyId);
    expect(of(await list({ actor: 'admin' }))).toEqual([]);
  });

  test('filters hold together, and pages have every entry once', async () => {
    const actor = await recordAs(['a', 'b', 'c', 'd', 'e']);
    expect(await list({ actor, action: 'test.undone' })).toEqual([]);
    expect(await list({ actor, to: '2020-01-01T00:00:00Z' })).toEqual([]);
    const seen: string[] = [];
    let query: Query | undefined = { actor, action: 'test.done', limit: 2 };
    while (query !== undefined) {
      const { data, page }: Page = (await call(query)).body;
      seen.push(...data.map(({ target }) => target.id));
      query = page.next_cursor === null ? undefined : { ...query, cursor: page.next_cursor };
    }
    expect(seen).toEqual(['e', 'd', 'c', 'b', 'a']);
  });
});

describe('400', () => {
  test('a cursor of other filters, a time that is none', async () => {
    const actor = await recordAs(['a', 'b']);
    const { body } = await call({ actor, limit: 1 });
    expectProblem(await call({ limit: 1, cursor: body.page.next_cursor ?? '' }), 400, 'cursor_mismatch');
    expectProblem(await call({ from: 'yesterday' }), 400, 'invalid_parameter');
  });
});

describe('401 and 403', () => {
  test('only the operator may read it: no caller without credentials, no key, no owner of a workspace', async () => {
    const { key, workspaceId } = await newProject(api);
    const { token } = await newUser(api, { workspaceId, role: 'owner' });
    expectProblem(await api.call('listServiceAuditLog'), 401, 'credentials_required');
    expectProblem(await api.call('listServiceAuditLog', { key }), 403, 'admin_required');
    expectProblem(await api.call('listServiceAuditLog', { token }), 403, 'admin_required');
  });
});
