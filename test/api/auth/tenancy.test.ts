import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTenancy, type Tenancy } from '../../../src/domains/auth/tenancy.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import { createInvalidations, type Invalidations } from '../../../src/stores/postgres/invalidations.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { until } from '../../support/until.ts';
import { newUser, type TestUser } from '../../support/users.ts';

/** What another process holds: its own connections and caches, with its statements counted. */
let tenancy: Tenancy;
let postgres: Postgres;
let invalidations: Invalidations;
let statements = 0;

let api: TestApi;
let project: ProjectOfTest;
let owner: TestUser;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api, 'free');
  owner = await newUser(api, { workspaceId: project.workspaceId, role: 'owner' });
  const { databaseUrl } = api.config;
  postgres = connectPostgres(databaseUrl, 10);
  postgres.on('query', () => statements++);
  invalidations = createInvalidations({ databaseUrl, logger: createLogger({ level: 'silent', name: 'test' }) });
  tenancy = createTenancy({ postgres, invalidations, defaultPlan: 'free' });
  invalidations.start();
  await until('it hears of changes', 30_000, () => invalidations.connected);
});
afterAll(async () => {
  invalidations?.close();
  await postgres?.destroy();
  await api?.close();
});

const claims = (subject: string) => ({
  subject,
  expiresAtMs: Date.now() + 60_000,
  orgId: undefined,
  email: undefined,
  name: undefined,
});
const lookupId = () => project.key.split('_')[1] ?? '';

/** The plan as every kind of look-up tells it. */
async function plans(): Promise<(string | undefined)[]> {
  const { workspaceId } = project;
  return [
    (await tenancy.findApiKey(lookupId()))?.project.plan,
    (await tenancy.findProject(project.id))?.plan,
    (await tenancy.findWorkspace(workspaceId))?.plan,
    (await tenancy.findUser(claims(owner.subject))).memberships.get(workspaceId)?.workspace.plan,
  ];
}

describe('another process', () => {
  test('reads nothing from Postgres for a warm key, project, workspace or user', async () => {
    expect(await plans()).toEqual(['free', 'free', 'free', 'free']);
    // What is known of a user lives for seconds, which a busy machine may take.
    await until('200 look-ups of each without a statement', 30_000, async () => {
      const before = statements;
      for (let i = 0; i < 200; i++) await plans();
      return statements === before;
    });
  });

  test('knows of a changed plan within a second', async () => {
    const params = { workspace_id: project.workspaceId };
    await api.admin('updateWorkspace', { params, body: { plan: 'free' } }, 200);
    await until('every look-up tells the old one', 30_000, async () =>
      (await plans()).every((plan) => plan === 'free'),
    );
    await api.admin('updateWorkspace', { params, body: { plan: 'team' } }, 200);
    const answeredAtMs = performance.now();
    await until('every look-up tells it', 30_000, async () => (await plans()).every((plan) => plan === 'team'));
    expect(performance.now() - answeredAtMs).toBeLessThan(1_000);
  });

  test('refuses a deleted user as soon as that is announced', async () => {
    const user = await newUser(api);
    expect((await tenancy.findUser(claims(user.subject))).deleted).toBe(false);
    await api.postgres('users').where({ id: user.id }).update({ deleted_at: new Date() });
    await invalidations.publish('user', [user.id]);
    expect((await tenancy.findUser(claims(user.subject))).deleted).toBe(true);
  });

  test('asks once about a project that does not exist, and never about what cannot be one', async () => {
    const absent = `prj_${randomUUID()}`;
    expect(await tenancy.findProject(absent)).toBeUndefined();
    const before = statements;
    expect(await tenancy.findProject(absent)).toBeUndefined();
    expect(await tenancy.findProject('x'.repeat(10_000))).toBeUndefined();
    expect(statements).toBe(before);
  });

  test('makes users one at a time: fifty at once are made once, and fifty others each once', async () => {
    const [same, ...others] = Array.from({ length: 51 }, () => `user_${randomUUID()}`);
    const made = await Promise.all(Array.from({ length: 50 }, () => tenancy.findUser(claims(same ?? ''))));
    expect(new Set(made.map(({ userId }) => userId)).size).toBe(1);
    const each = await Promise.all(others.map((subject) => tenancy.findUser(claims(subject))));
    expect(new Set(each.map(({ personalWorkspaceId }) => personalWorkspaceId)).size).toBe(50);
    expect(each.every(({ memberships }) => memberships.size === 1)).toBe(true);
  });
});
