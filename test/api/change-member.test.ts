import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { latestAudit, newUser, type TestUser } from '../support/users.ts';

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
const update = (by: TestUser, user: { id: string }, role: string) =>
  api.call<{ role: string }>('updateMember', { params: params(user), body: { role }, token: by.token });
const remove = (by: TestUser, user: { id: string }) =>
  api.call('removeMember', { params: params(user), token: by.token });
const listAs = (user: TestUser) =>
  api.call('listMembers', { params: { workspace_id: project.workspaceId }, token: user.token });
const createAs = (user: TestUser) =>
  api.call('createProject', { params: { workspace_id: project.workspaceId }, body: { name: 'x' }, token: user.token });

describe('updateMember', () => {
  test('200: an admin gives a role, in force at once and audited', async () => {
    expectProblem(await createAs(member), 403, 'insufficient_role');
    const answer = await update(admin, member, 'admin');
    expect(answer.body).toMatchObject({ user_id: member.id, role: 'admin' });
    expect((await createAs(member)).status).toBe(201);
    await update(admin, member, 'viewer');
    expectProblem(await createAs(member), 403, 'insufficient_role');
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      actor_type: 'user',
      actor_id: admin.id,
      action: 'member.role_changed',
      target_id: member.id,
      details: { before: 'admin', after: 'viewer' },
    });
  });

  test('200: an owner makes another owner and may then step down', async () => {
    expect((await update(owner, admin, 'owner')).status).toBe(200);
    expect((await update(owner, owner, 'viewer')).status).toBe(200);
  });

  test('403: an admin neither makes nor unmakes owners', async () => {
    expectProblem(await update(admin, admin, 'owner'), 403, 'insufficient_role');
    expectProblem(await update(admin, owner, 'member'), 403, 'insufficient_role');
  });

  test('403: a member changes nobody', async () => {
    expectProblem(await update(member, member, 'admin'), 403, 'insufficient_role');
  });

  test('404: nobody that is a member, also a user of another workspace', async () => {
    const stranger = await newUser(api);
    expectProblem(await update(admin, { id: newId('usr') }, 'viewer'), 404, 'member_not_found');
    expectProblem(await update(admin, stranger, 'viewer'), 404, 'member_not_found');
  });

  test('409: the last owner stays one', async () => {
    expectProblem(await update(owner, owner, 'admin'), 409, 'last_owner');
  });

  test('409: of two owners who step down at once one stays', async () => {
    await update(owner, admin, 'owner');
    const answers = await Promise.all([update(owner, owner, 'admin'), update(admin, admin, 'admin')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test('422: an unknown role is refused', async () => {
    expectProblem(await update(owner, member, 'god'), 422, 'invalid_body');
  });
});

describe('removeMember', () => {
  test('204: who was removed sees nothing of the workspace at once, and it is audited', async () => {
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

  test('403: an admin removes no owner, a member nobody', async () => {
    expectProblem(await remove(admin, owner), 403, 'insufficient_role');
    expectProblem(await remove(member, admin), 403, 'insufficient_role');
  });

  test('409: the last owner stays', async () => {
    expectProblem(await remove(owner, owner), 409, 'last_owner');
    const personal = await api.call<{ workspace: { id: string } }>('getContext', { token: owner.token });
    const own = { workspace_id: personal.body.workspace.id, user_id: owner.id };
    expectProblem(await api.call('removeMember', { params: own, token: owner.token }), 409, 'last_owner');
  });
});
