import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { newUser, type TestUser } from '../../support/users.ts';

interface Page {
  data: { user_id: string; role: string; email: string | null; since: string }[];
  page: { next_cursor: string | null };
}

let api: TestApi;
let project: ProjectOfTest;
let members: TestUser[];
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  members = [];
  for (const role of ['owner', 'admin', 'member', 'viewer'] as const) {
    members.push(await newUser(api, { workspaceId: project.workspaceId, role }));
  }
  const gone = await newUser(api, { workspaceId: project.workspaceId, role: 'owner' });
  await api.postgres('users').where({ id: gone.id }).update({ deleted_at: new Date() });
  const left = await newUser(api, { workspaceId: project.workspaceId, role: 'owner' });
  await api.postgres('memberships').where({ user_id: left.id }).update({ removed_at: new Date() });
});
afterAll(() => api.close());

function list(credential: object, query: Record<string, string | number> = {}) {
  return api.call<Page>('listMembers', { params: { workspace_id: project.workspaceId }, query, ...credential });
}

describe('200', () => {
  test('every member sees those who are members now, page by page', async () => {
    for (const { token } of members) {
      const first = await list({ token }, { limit: 3 });
      expect(first.status).toBe(200);
      const rest = await list({ token }, { limit: 3, cursor: first.body.page.next_cursor ?? '' });
      const all = [...first.body.data, ...rest.body.data];
      expect(all.map(({ user_id }) => user_id).sort()).toEqual(members.map(({ id }) => id).sort());
      expect(all.map(({ role }) => role).sort()).toEqual(['admin', 'member', 'owner', 'viewer']);
    }
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await list({}), 401, 'credentials_required');
  });
});

describe('403', () => {
  test('an API key is not enough', async () => {
    expectProblem(await list({ key: project.key }), 403, 'admin_required');
  });
});

describe('404', () => {
  test('for who is not a member the workspace does not exist', async () => {
    const stranger = await newUser(api);
    expectProblem(await list({ token: stranger.token }), 404, 'workspace_not_found');
  });
});
