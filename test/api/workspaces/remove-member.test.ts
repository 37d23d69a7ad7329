import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { latestAudit, newUser, type TestUser } from '../../support/users.ts';

let api: TestApi;
let project: ProjectOfTest;
let owner: TestUser;
let admin: TestUser;
let member: TestUser;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  project = await newProject(api);
  const { workspaceId } = project;
  owner = await newUser(api, { workspaceId, role: 'owner' });
  admin = await newUser(api, { workspaceId, role: 'admin' });
  member = await newUser(api, { workspaceId, role: 'member' });
});
afterAll(() => api.close());

const params = (user: { id: string }) => ({ workspace_id: project.workspaceId, user_id: user.id });
const remove = (by: TestUser, user: { id: string }) =>
  api.call('removeMember', { params: params(user), token: by.token });
const listAs = (user: TestUser) =>
  api.call('listMembers', { params: { workspace_id: project.workspaceId }, token: user.token });

describe('204', () => {
  test('who was removed sees nothing of the workspace at once, and it is audited', async () => {
    expect((await listAs(member)).status).toBe(200);
    expect((await remove(admin, member)).status).toBe(204);
    expectProblem(await listAs(member), 404, 'workspace_not_found');
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      action: 'member.removed',
      actor_id: admin.id,
      target_id: member.id,
      details: { before: 'member', after: null },
    });
    expectProblem(await remove(admin, member), 404, 'member_not_found');
  });
});

describe('403', () => {
  test('an admin removes no owner, a member nobody', async () => {
    expectProblem(await remove(admin, owner), 403, 'insufficient_role');
    expectProblem(await remove(member, admin), 403, 'insufficient_role');
  });
});

describe('409', () => {
  test('the last owner stays', async () => {
    expectProblem(await remove(owner, owner), 409, 'last_owner');
    const personal = await api.call<{ workspace: { id: string } }>('getContext', { token: owner.token });
    const own = { workspace_id: personal.body.workspace.id, user_id: owner.id };
    expectProblem(await api.call('removeMember', { params: own, token: owner.token }), 409, 'last_owner');
  });
});
