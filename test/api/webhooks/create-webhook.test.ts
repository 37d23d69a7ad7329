import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { latestAudit } from '../../support/users.ts';
import type { WireWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const valid = { url: 'https://example.com/hook?token=of-the-receiver', events: ['prompt.deleted'] };
const create = (body: unknown, { key, id } = { key: project.key, id: project.id }, headers = {}) =>
  api.call<WireWebhook>('createWebhook', { key, params: { project_id: id }, body, headers });

describe('201', () => {
  test('the webhook comes with its secret, which nothing shows again and the database does not have in the clear', async () => {
    const { status, body } = await create({ ...valid, description: 'deploys' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ ...valid, description: 'deploys', enabled: true, disabled_reason: null, previous_secret_until: null },
      id: expect.stringMatching(/^whk_/),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const read = await api.call('getWebhook', {
      key: project.key,
      params: { project_id: project.id, webhook_id: body.id },
    });
    expect(read.text).not.toContain('whsec_');
    const row = await api.postgres('webhooks').where({ id: body.id }).first();
    const bytes = Buffer.from(String(body.secret).slice('whsec_'.length), 'base64');
    for (const part of [String(body.secret), String(body.secret).slice(6), bytes]) {
      expect(row.secret.includes(part)).toBe(false);
    }
  });

  test('the audit log has the host and the events, but not the URL', async () => {
    const { body } = await create(valid);
    const audit = await latestAudit(api, project.workspaceId);
    expect(audit).toMatchObject({
      ...{ action: 'webhook.created', target_id: body.id, actor_type: 'api_key' },
      details: { host: 'example.com', events: ['prompt.deleted'] },
    });
    expect(JSON.stringify(audit)).not.toContain('of-the-receiver');
  });

  test('events are listed once; it may begin disabled', async () => {
    const { body } = await create({ ...valid, events: ['prompt.deleted', 'prompt.deleted'], enabled: false });
    expect(body).toMatchObject({ events: ['prompt.deleted'], enabled: false });
  });

  test('a repeated request with its Idempotency-Key creates nothing and does not show the secret', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await create(valid, undefined, headers);
    const again = await create(valid, undefined, headers);
    expect([again.status, again.body.id, again.body.secret]).toEqual([201, first.body.id, undefined]);
  });
});

describe('400', () => {
  test('an unknown field is refused', async () => {
    expectProblem(await create({ ...valid, secret: 'whsec_mine' }), 400, 'unknown_field');
  });
});

describe('403', () => {
  test('a key without budgets:write is refused', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['budgets:read'] });
    expectProblem(await create(valid, { key, id: project.id }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('the project of another workspace does not exist', async () => {
    const stranger = await newProject(api);
    expectProblem(await create(valid, { key: stranger.key, id: project.id }), 404, 'project_not_found');
  });
});

describe('409', () => {
  test('a project has 20 webhooks at most, also when they are created at the same time', async () => {
    const own = await newProject(api);
    const answers = await Promise.all(Array.from({ length: 24 }, () => create(valid, own)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    const problem = expectProblem(await create(valid, own), 409, 'too_many_webhooks');
    expect(problem).toMatchObject({ limit: 20, detail: expect.stringContaining('20') });
  });
});

describe('409, of the workspace', () => {
  test('a workspace has 1,000 webhooks at most', async () => {
    const own = await newProject(api);
    expect((await create(valid, own)).status).toBe(201);
    const params = { workspace_id: own.workspaceId };
    const [full, last] = await Promise.all(
      ['full', 'last'].map((name) => api.admin<{ id: string }>('createProject', { params, body: { name } }, 201)),
    );
    const row = await api.postgres('webhooks').where({ project_id: own.id }).first();
    const names = Object.keys(row).filter((name) => name !== 'id' && name !== 'project_id');
    await api.postgres.raw(
      `insert into webhooks (id, project_id, ${names.join(', ')})
       select 'whk_' || cast(:other as text) || n, :other, ${names.join(', ')} from webhooks, generate_series(1, 999) as n
       where project_id = :own`,
      { own: own.id, other: full?.id ?? '' },
    );
    expect(
      expectProblem(
        await create(valid, { ...(await newKey(api, last?.id ?? '', {})), id: last?.id ?? '' }),
        409,
        'too_many_webhooks',
      ),
    ).toMatchObject({ limit: 1_000 });
  });
});

describe('422', () => {
  test.each([
    ['url', { url: 'http://example.com/' }],
    ['url', { url: 'https://127.0.0.1/' }],
    ['url', { url: 'https://[::ffff:7f00:1]/' }],
    ['url', { url: 'https://2130706433/' }],
    ['url', { url: 'https://169.254.169.254/latest' }],
    ['url', { url: 'https://user:password@example.com/' }],
    ['url', { url: 'https://example.com:6379/' }],
    ['url', { url: 'https://localhost/' }],
    ['url', { url: 'no URL' }],
    ['url', { url: undefined }],
    ['events', { events: [] }],
    ['events[0]', { events: ['webhook.test'] }],
    ['events[0]', { events: ['of nobody'] }],
    ['description', { description: 'x'.repeat(501) }],
    ['enabled', { enabled: 'yes' }],
  ])('%s of %j is refused with its path', async (path, change) => {
    const problem = expectProblem(await create({ ...valid, ...change }), 422, 'invalid_body');
    expect(problem.errors?.map((each) => each.path)).toEqual([path]);
  });
});
