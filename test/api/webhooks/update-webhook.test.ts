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

const put = (body: unknown, id = webhook.id, key = project.key) =>
  api.call<WireWebhook>('updateWebhook', { key, params: { project_id: project.id, webhook_id: id }, body });

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

describe('404', () => {
  test('a webhook of another project does not exist', async () => {
    const other = await newProject(api);
    const { id } = await newWebhook(api, other, { url: 'https://example.com/' });
    expectProblem(await put({}, id), 404, 'webhook_not_found');
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
