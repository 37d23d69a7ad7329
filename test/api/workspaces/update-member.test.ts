import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
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
const update = (by: TestUser, user: { id: string }, role: string) =>
  api.call<{ role: string }>('updateMember', { params: params(user), body: { role }, token: by.token });
const createAs = (user: TestUser) =>
  api.call('createProject', { params: { workspace_id: project.workspaceId }, body: { name: 'x' }, token: user.token });

describe('200', () => {
  test('an admin gives a role, in force at once and audited', async () => {
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

  test('an owner makes another owner and may then step down', async () => {
    expect((await update(owner, admin, 'owner')).status).toBe(200);
    expect((await update(owner, owner, 'viewer')).status).toBe(200);
  });

  test('the role that the member has is no change: the statement of the provider stays the latest, and nothing is audited', async () => {
    const key = { workspace_id: project.workspaceId, user_id: member.id };
    const said = { source_role: 'member', source_removed: false, source_updated_at: new Date(1_000) };
    await api.postgres('memberships').where(key).update(said);
    expect((await update(admin, member, 'member')).body).toMatchObject({ user_id: member.id, role: 'member' });
    const row = await api.postgres('memberships').where(key).first();
    expect(row).toMatchObject({ ...said, source_is_member: false });
    expect(await api.postgres('audit_log').where({ workspace_id: key.workspace_id, target_id: member.id })).toEqual([]);
    await update(admin, member, 'viewer');
    expect(await api.postgres('memberships').where(key).first()).toMatchObject({ source_is_member: true });
  });
});

describe('403', () => {
  test('an admin neither makes nor unmakes owners', async () => {
    expectProblem(await update(admin, admin, 'owner'), 403, 'insufficient_role');
    expectProblem(await update(admin, owner, 'member'), 403, 'insufficient_role');
  });

  test('a member changes nobody', async () => {
    expectProblem(await update(member, member, 'admin'), 403, 'insufficient_role');
  });
});

describe('404', () => {
  test('nobody that is a member, also a user of another workspace', async () => {
    const stranger = await newUser(api);
    expectProblem(await update(admin, { id: newId('usr') }, 'viewer'), 404, 'member_not_found');
    expectProblem(await update(admin, stranger, 'viewer'), 404, 'member_not_found');
  });
});

describe('409', () => {
  test('the last owner stays one', async () => {
    expectProblem(await update(owner, owner, 'admin'), 409, 'last_owner');
  });

  test('of two owners who step down at once one stays', async () => {
    await update(owner, admin, 'owner');
    const answers = await Promise.all([update(owner, owner, 'admin'), update(admin, admin, 'admin')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe('422', () => {
  test('an unknown role is refused', async () => {
    expectProblem(await update(owner, member, 'god'), 422, 'invalid_body');
  });
});
