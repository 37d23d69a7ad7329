import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { latestAudit } from '../../support/users.ts';
import { newWebhook, type WireWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let project: ProjectOfTest;
let webhook: WireWebhook;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
beforeEach(async () => {
  webhook = await newWebhook(api, project, { url: 'https://example.com/before' });
});
afterAll(() => api.close());

const at = () => ({ key: project.key, params: { project_id: project.id, webhook_id: webhook.id } });
const put = (body: unknown, id = webhook.id, headers: Record<string, string> = {}) =>
  api.call<WireWebhook>('updateWebhook', {
    ...{ key: project.key, params: { project_id: project.id, webhook_id: id } },
    ...{ body, headers },
  });
const tagNow = async () => String((await api.call('getWebhook', at())).headers.get('etag'));

describe('200', () => {
  test('what is absent stays, and null clears the description', async () => {
    const { secret: _, ...before } = webhook;
    expect((await put({ description: 'deploys' })).body).toMatchObject({
      ...{ url: before.url, events: before.events, description: 'deploys', enabled: true },
    });
    const changes = { url: 'https://example.org/after', events: ['prompt.label_moved'], description: null };
    expect((await put(changes)).body).toMatchObject(changes);
    expect((await put({})).body).toMatchObject(changes);
  });

  test('disabling and enabling it is in the audit log', async () => {
    expect((await put({ enabled: false })).body).toMatchObject({ enabled: false, disabled_reason: null });
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({ action: 'webhook.disabled' });
    await put({ enabled: true });
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      ...{ action: 'webhook.updated', target_id: webhook.id, details: { enabled: true, url_changed: false } },
    });
  });

  test('enabling one that the service disabled forgets its failures', async () => {
    const failing = {
      enabled: false,
      disabled_reason: 'failing',
      consecutive_failures: 12,
      failing_since: new Date(0),
    };
    await api.postgres('webhooks').where({ id: webhook.id }).update(failing);
    const { body } = await put({ enabled: true });
    expect(body).toMatchObject({ enabled: true, disabled_reason: null, consecutive_failures: 0, failing_since: null });
  });
});

describe('200 with If-Match', () => {
  test('the tag of a read changes it, and the response has the next tag', async () => {
    const first = await put({ description: 'one' }, webhook.id, { 'If-Match': await tagNow() });
    const next = first.headers.get('etag') ?? '';
    expect([first.status, next]).toEqual([200, await tagNow()]);
    expect((await put({ description: 'two' }, webhook.id, { 'If-Match': next })).status).toBe(200);
  });

  test('a failed attempt does not change the tag', async () => {
    const tag = await tagNow();
    const failed = { consecutive_failures: 1, failing_since: new Date(0), last_attempt_at: new Date() };
    await api.postgres('webhooks').where({ id: webhook.id }).update(failed);
    expect((await put({ description: 'one' }, webhook.id, { 'If-Match': tag })).status).toBe(200);
  });
});

describe('404', () => {
  test('a webhook of another project does not exist', async () => {
    const other = await newProject(api);
    const { id } = await newWebhook(api, other, { url: 'https://example.com/' });
    expectProblem(await put({}, id), 404, 'webhook_not_found');
  });
});

describe('412', () => {
  test('the tag of a read before another change, and nothing changes', async () => {
    const stale = await tagNow();
    await put({ description: 'of another' });
    expectProblem(await put({ description: 'lost' }, webhook.id, { 'If-Match': stale }), 412, 'precondition_failed');
    expect((await put({})).body.description).toBe('of another');
  });

  test('of callers that change it by the same tag, one does', async () => {
    const headers = { 'If-Match': await tagNow() };
    const answers = await Promise.all([1, 2, 3].map((n) => put({ description: `${n}` }, webhook.id, headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  });
});

describe('422', () => {
  test('a URL that is no target is refused, and nothing changes', async () => {
    const answer = await put({ url: 'https://10.0.0.1/', enabled: false });
    expect(expectProblem(answer, 422, 'invalid_body').errors).toMatchObject([
      { path: 'url', code: 'target_not_allowed' },
    ]);
    expect((await put({})).body).toMatchObject({ url: webhook.url, enabled: true });
  });
});
