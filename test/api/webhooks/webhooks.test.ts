import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { latestAudit } from '../../support/users.ts';
import { insertDeliveries, newWebhook, okIn, type WireWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const url = 'https://example.com/';
const call = <T = WireWebhook>(operation: string, id = '', options: object = {}) =>
  api.call<T>(operation, { key: project.key, params: { project_id: project.id, webhook_id: id }, ...options });

interface Page {
  data: WireWebhook[];
  page: { next_cursor: string | null; has_more: boolean };
}

describe('listWebhooks', () => {
  test('200: newest first, in pages, without secrets, and only those of the project', async () => {
    const own = await newProject(api);
    const [params, key] = [{ project_id: own.id }, own.key];
    const ids: string[] = [];
    for (let nth = 0; nth < 3; nth++) ids.unshift((await newWebhook(api, own, { url })).id);
    const first = await call<Page>('listWebhooks', '', { params, key, query: { limit: 2 } });
    expect(first.body.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.text).not.toContain('secret":');
    const cursor = String(first.body.page.next_cursor);
    const rest = await call<Page>('listWebhooks', '', { params, key, query: { limit: 2, cursor } });
    expect([rest.body.data.map(({ id }) => id), rest.body.page.has_more]).toEqual([ids.slice(2), false]);
    expectProblem(await call('listWebhooks', '', { query: { cursor } }), 400, 'cursor_mismatch');
  });
});

describe('getWebhook', () => {
  test('200: a key with budgets:read reads it', async () => {
    const webhook = await newWebhook(api, project, { url });
    const { key } = await newKey(api, project.id, { scopes: ['budgets:read'] });
    const { secret: _, ...shown } = webhook;
    expect((await call('getWebhook', webhook.id, { key })).body).toEqual(shown);
  });
  test('404: it does not exist', async () => {
    expectProblem(await call('getWebhook', 'whk_1'), 404, 'webhook_not_found');
  });
});

describe('deleteWebhook', () => {
  test('204: it is gone, and the audit log says so; 404: a second time', async () => {
    const { id } = await newWebhook(api, project, { url });
    expect((await call('deleteWebhook', id)).status).toBe(204);
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({ action: 'webhook.deleted', target_id: id });
    expectProblem(await call('getWebhook', id), 404, 'webhook_not_found');
    expectProblem(await call('deleteWebhook', id), 404, 'webhook_not_found');
    expect(await api.postgres('webhooks').where({ id })).toEqual([]);
  });

  test('412: the tag of a read before a change; 204: the tag of a read after it', async () => {
    const { id } = await newWebhook(api, project, { url });
    const tag = async () => ({ 'If-Match': String((await call('getWebhook', id)).headers.get('etag')) });
    const stale = await tag();
    await call('updateWebhook', id, { body: { enabled: false } });
    expectProblem(await call('deleteWebhook', id, { headers: stale }), 412, 'precondition_failed');
    expect((await call('deleteWebhook', id, { headers: await tag() })).status).toBe(204);
  });

  test('204: one with more deliveries than one statement may delete is gone at once, and leaves its place', async () => {
    const own = await newProject(api);
    const [first] = await Promise.all(Array.from({ length: 20 }, () => newWebhook(api, own, { url })));
    const id = first?.id ?? '';
    await insertDeliveries(api, own, { id }, 501);
    const of = { params: { project_id: own.id, webhook_id: id }, key: own.key };
    expect((await call('deleteWebhook', id, of)).status).toBe(204);
    expect(await api.postgres('webhook_deliveries').where({ webhook_id: id })).toHaveLength(501);
    for (const operation of ['getWebhook', 'deleteWebhook', 'testWebhook', 'listWebhookDeliveries']) {
      expectProblem(await call(operation, id, of), 404, 'webhook_not_found');
    }
    for (const operation of ['updateWebhook', 'rotateWebhookSecret']) {
      expectProblem(await call(operation, id, { ...of, body: {} }), 404, 'webhook_not_found');
    }
    expect((await okIn<Page>(api, own, 'listWebhooks')).data).toHaveLength(19);
    await newWebhook(api, own, { url });
    const notify = { amount: '1', currency: 'USD', period: 'daily', notify: { webhook_ids: [id] } };
    expectProblem(await call('putBudget', id, { ...of, body: notify }), 422, 'invalid_body');
  });
});

describe('rotateWebhookSecret', () => {
  test('201: another secret is shown once, and the old one ends after the overlap', async () => {
    const webhook = await newWebhook(api, project, { url });
    const { status, body } = await call('rotateWebhookSecret', webhook.id, { body: { overlap_s: 60 } });
    expect([status, body.id]).toEqual([201, webhook.id]);
    expect(body.secret).toMatch(/^whsec_/);
    expect(body.secret).not.toBe(webhook.secret);
    const leftMs = Date.parse(String(body.previous_secret_until)) - Date.now();
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThan(61_000);
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      ...{ action: 'webhook.secret_rotated', details: { overlap_s: 60 } },
    });
  });
  test('201: with an overlap of 0 the old secret ends at once', async () => {
    const { id } = await newWebhook(api, project, { url });
    await call('rotateWebhookSecret', id);
    expect((await call('rotateWebhookSecret', id, { body: { overlap_s: 0 } })).body.previous_secret_until).toBeNull();
    expect((await api.postgres('webhooks').where({ id }).first()).previous_secret).toBeNull();
  });
  test('404: it does not exist; 422: the overlap is too long', async () => {
    expectProblem(await call('rotateWebhookSecret', 'whk_1', { body: {} }), 404, 'webhook_not_found');
    const { id } = await newWebhook(api, project, { url });
    expectProblem(await call('rotateWebhookSecret', id, { body: { overlap_s: 604_801 } }), 422, 'invalid_body');
  });
});

describe('testWebhook', () => {
  test('404: it does not exist; 409: it is disabled', async () => {
    expectProblem(await call('testWebhook', 'whk_1'), 404, 'webhook_not_found');
    const { id } = await newWebhook(api, project, { url });
    await call('updateWebhook', id, { body: { enabled: false } });
    expectProblem(await call('testWebhook', id), 409, 'webhook_disabled');
  });
});
