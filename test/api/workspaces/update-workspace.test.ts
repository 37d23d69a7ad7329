import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { latestAudit, newUser, type TestUser } from '../../support/users.ts';

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
  test('the owner changes the name and lowers the plan, which the next request sees and the audit log keeps', async () => {
    await update({ plan: 'pro' }, operator());
    const answer = await update({ name: ' New ', plan: 'free' });
    expect(answer.body).toMatchObject({ id: project.workspaceId, name: 'New', plan: 'free', plan_overrides: {} });
    const context = await api.call<{ workspace: unknown }>('getContext', { key: project.key });
    expect(context.body.workspace).toEqual({ id: project.workspaceId, name: 'New', plan: 'free' });
    expect(await latestAudit(api, project.workspaceId)).toEqual({
      actor_type: 'user',
      actor_id: owner.id,
      action: 'workspace.updated',
      target_id: project.workspaceId,
      details: {
        before: { name: expect.any(String), plan: 'pro', plan_overrides: {} },
        after: { name: 'New', plan: 'free', plan_overrides: {} },
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

/** From the least on. */
const ladder = ['free', 'pro', 'team', 'enterprise'];
const pairs = ladder.flatMap((from) => ladder.map((to) => ({ from, to })));

describe.each(pairs)('a plan from $from to $to', ({ from, to }) => {
  const raises = ladder.indexOf(to) > ladder.indexOf(from);

  test(raises ? 'takes the admin key' : 'is the choice of the owner', async () => {
    await api.postgres('workspaces').where({ id: project.workspaceId }).update({ plan: from });
    const answer = await update({ name: 'both or neither', plan: to });
    if (raises) expect(expectProblem(answer, 403, 'admin_required').detail).toContain(to);
    else expect(answer.status).toBe(200);
    const stored = await api.postgres('workspaces').where({ id: project.workspaceId }).first('plan', 'name');
    expect(stored).toMatchObject({ plan: raises ? from : to });
    expect(stored.name === 'both or neither').toBe(!raises);
    expect((await update({ plan: to }, operator())).body).toMatchObject({ plan: to });
  });
});

test('the owner of a personal workspace cannot raise its plan either', async () => {
  const user = await newUser(api);
  await api.call('getContext', { token: user.token });
  const { id } = await api.postgres('workspaces').where({ owner_user_id: user.id }).first('id');
  await api.postgres('workspaces').where({ id }).update({ plan: 'free' });
  await expect.poll(async () => (await update({ plan: 'enterprise' }, { token: user.token }, id)).status).toBe(403);
  expect(await api.postgres('workspaces').where({ id }).first('plan')).toEqual({ plan: 'free' });
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
    [{ plan_overrides: { retention_days: 28_001 } }, 'plan_overrides.retention_days'],
    [{ plan_overrides: { retention_days: 36_500 } }, 'plan_overrides.retention_days'],
    [{ plan_overrides: { rate_limits: { read: 1.5 } } }, 'plan_overrides.rate_limits.read'],
  ])('the body %j is refused', async (body, path) => {
    const problem = expectProblem(await update(body, operator()), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test('a retention that is too long is refused with the longest', async () => {
    const problem = expectProblem(
      await update({ plan_overrides: { retention_days: 30_000 } }, operator()),
      422,
      'invalid_body',
    );
    expect(problem.detail).toMatch(/28000/);
  });
});
