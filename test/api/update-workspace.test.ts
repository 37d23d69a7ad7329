import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { latestAudit, newUser, type TestUser } from '../support/users.ts';

let api: TestApi;
let project: ProjectOfTest;
let owner: TestUser;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  project = await newProject(api, 'free');
  owner = await newUser(api, { workspaceId: project.workspaceId, role: 'owner' });
});
afterAll(() => api.close());

function update(body: unknown, credential: object = { token: owner.token }, workspaceId = project.workspaceId) {
  return api.call<Record<string, unknown>>('updateWorkspace', {
    params: { workspace_id: workspaceId },
    body,
    ...credential,
  });
}

const operator = () => ({ adminKey: api.config.adminApiKey });

describe('200', () => {
  test('the owner changes name and plan, which the next request sees and the audit log keeps', async () => {
    const answer = await update({ name: ' New ', plan: 'pro' });
    expect(answer.body).toMatchObject({ id: project.workspaceId, name: 'New', plan: 'pro', plan_overrides: {} });
    const context = await api.call<{ workspace: unknown }>('getContext', { key: project.key });
    expect(context.body.workspace).toEqual({ id: project.workspaceId, name: 'New', plan: 'pro' });
    expect(await latestAudit(api, project.workspaceId)).toEqual({
      actor_type: 'user',
      actor_id: owner.id,
      action: 'workspace.updated',
      target_id: project.workspaceId,
      details: {
        before: { name: expect.any(String), plan: 'free', plan_overrides: {} },
        after: { name: 'New', plan: 'pro', plan_overrides: {} },
      },
      request_id: answer.headers.get('x-request-id'),
    });
  });

  test('the operator sets overrides, which replace those before', async () => {
    const overrides = { rate_limits: { read: 7, write: null }, quotas: { spans: 10 }, retention_days: 3 };
    expect((await update({ plan_overrides: overrides }, operator())).body.plan_overrides).toEqual(overrides);
    expect((await update({ plan_overrides: {} }, operator())).body.plan_overrides).toEqual({});
  });
});

describe('400', () => {
  test('an unknown override is named, with the one that was meant', async () => {
    const problem = expectProblem(
      await update({ plan_overrides: { quotas: { span: 1 } } }, operator()),
      400,
      'unknown_field',
    );
    expect(problem.detail).toContain('spans');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await update({ plan: 'pro' }, {}), 401, 'credentials_required');
  });
});

describe('403', () => {
  test.each(['viewer', 'member', 'admin'] as const)('the role %s is not enough', async (role) => {
    const user = await newUser(api, { workspaceId: project.workspaceId, role });
    expectProblem(await update({ plan: 'pro' }, { token: user.token }), 403, 'insufficient_role');
  });

  test('an API key is not enough', async () => {
    expectProblem(await update({ plan: 'pro' }, { key: project.key }), 403, 'admin_required');
  });

  test('overrides are for the operator alone, and nothing else of that request is done', async () => {
    expectProblem(await update({ plan: 'pro', plan_overrides: {} }), 403, 'admin_required');
    expect(await api.postgres('workspaces').where({ id: project.workspaceId }).first('plan')).toEqual({ plan: 'free' });
  });
});

describe('404', () => {
  test('a workspace of others and one that does not exist are the same to a user', async () => {
    const other = await newProject(api);
    const problems = await Promise.all(
      [other.workspaceId, newId('wsp')].map(async (id) => {
        const answer = await update({ plan: 'pro' }, { token: owner.token }, id);
        return answer.text.replaceAll(id, '<id>').replaceAll(answer.headers.get('x-request-id') ?? '', '<request>');
      }),
    );
    expect(problems[0]).toContain('workspace_not_found');
    expect(problems[0]).toBe(problems[1]);
  });

  test('one that does not exist or was deleted is unknown to the operator too', async () => {
    expectProblem(await update({ plan: 'pro' }, operator(), newId('wsp')), 404, 'workspace_not_found');
    const gone = await newProject(api);
    await api.postgres('workspaces').where({ id: gone.workspaceId }).update({ deleted_at: new Date() });
    await expect.poll(async () => (await update({ plan: 'pro' }, operator(), gone.workspaceId)).status).toBe(404);
  });
});

describe('422', () => {
  test.each([
    [{}, ''],
    [{ plan: 'gold' }, 'plan'],
    [{ name: ' ' }, 'name'],
    [{ plan_overrides: { retention_days: -1 } }, 'plan_overrides.retention_days'],
    [{ plan_overrides: { rate_limits: { read: 1.5 } } }, 'plan_overrides.rate_limits.read'],
  ])('the body %j is refused', async (body, path) => {
    const problem = expectProblem(await update(body, operator()), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });
});
