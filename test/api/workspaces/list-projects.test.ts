import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { newUser, type TestUser } from '../../support/users.ts';

interface Page {
  data: { id: string; name: string; workspace_id: string }[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}

let api: TestApi;
let project: ProjectOfTest;
let viewer: TestUser;
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  viewer = await newUser(api, { workspaceId: project.workspaceId, role: 'viewer' });
  const params = { workspace_id: project.workspaceId };
  for (const name of ['b', 'c', 'd', 'e']) await api.admin('createProject', { params, body: { name } }, 201);
});
afterAll(() => api.close());

function list(credential: object, query: Record<string, string | number> = {}, workspaceId = project.workspaceId) {
  return api.call<Page>('listProjects', { params: { workspace_id: workspaceId }, query, ...credential });
}

describe('200', () => {
  test('a viewer sees all projects of the workspace, oldest first, page by page', async () => {
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const { status, body }: { status: number; body: Page } = await list(
        { token: viewer.token },
        { limit: 2, ...(cursor && { cursor }) },
      );
      expect(status).toBe(200);
      names.push(...body.data.map(({ name }) => name));
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    expect(names).toEqual(['test', 'b', 'c', 'd', 'e']);
  });

  test('a key sees its own project only', async () => {
    const { body } = await list({ key: project.key });
    expect(body).toMatchObject({ data: [{ id: project.id }], page: { has_more: false } });
    expect(body.data).toHaveLength(1);
  });

  test('the operator sees all', async () => {
    expect((await list({ adminKey: api.config.adminApiKey })).body.data).toHaveLength(5);
  });
});

describe('400', () => {
  test('a cursor of another workspace does not fit', async () => {
    const other = await newProject(api);
    const { body } = await list({ token: viewer.token }, { limit: 1 });
    const query = { cursor: body.page.next_cursor ?? '' };
    expectProblem(await list({ key: other.key }, query, other.workspaceId), 400, 'cursor_mismatch');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await list({}), 401, 'credentials_required');
  });
});

describe('404', () => {
  test('a workspace of others does not exist for a key or a user', async () => {
    const other = await newProject(api);
    expectProblem(await list({ key: project.key }, {}, other.workspaceId), 404, 'workspace_not_found');
    expectProblem(await list({ token: viewer.token }, {}, other.workspaceId), 404, 'workspace_not_found');
  });
});
