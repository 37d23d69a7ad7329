import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyIdentityEvent } from '../../src/domains/identity/apply-identity-event.ts';
import { pruneIdentityEvents } from '../../src/domains/identity/jobs.ts';
import { expectProblem, startApi, type TestApi } from '../support/api.ts';
import { identityEvent } from '../support/identity-state.ts';
import {
  identityWebhookSecrets,
  postClerk,
  postWebhook,
  standardHeaders,
  workosHeaders,
} from '../support/identity-webhooks.ts';
import { until } from '../support/until.ts';
import { tokenFor } from '../support/users.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi({ identityWebhookSecrets });
});
afterAll(() => api.close());

/** Clerk's ids of one test. */
function newCast() {
  const suffix = randomUUID();
  return { org: `org_${suffix}`, ann: `user_ann_${suffix}`, bob: `user_bob_${suffix}` };
}

const user = (verb: string, id: string, at: number, more: object = {}) => ({
  type: `user.${verb}`,
  data: { id, updated_at: at, first_name: 'Ann', email_addresses: [{ email_address: 'ann@example.test' }], ...more },
});
const organization = (verb: string, id: string, at: number, more: object = {}) => ({
  type: `organization.${verb}`,
  data: { id, updated_at: at, name: 'Acme', ...more },
});
const membership = (verb: string, org: string, userId: string, role: string, at: number, timestamp = at) => ({
  type: `organizationMembership.${verb}`,
  timestamp,
  data: { organization: { id: org }, public_user_data: { user_id: userId }, role, updated_at: at },
});

/** How each provider says that a member changed: the object has the time of its creation, the event that of now. */
const senders = {
  clerk: {
    event: (verb: string, org: string, userId: string) =>
      membership(verb, org, userId, 'org:member', 1_000, Date.now()),
    sign: (body: string) => standardHeaders(body, 'svix'),
  },
  workos: {
    event: (verb: string, org: string, userId: string) => ({
      id: `event_${randomUUID()}`,
      event: `organization_membership.${verb}`,
      created_at: new Date().toISOString(),
      data: {
        organization_id: org,
        user_id: userId,
        role: { slug: 'member' },
        updated_at: new Date(1_000).toISOString(),
      },
    }),
    sign: (body: string) => workosHeaders(body),
  },
  generic: {
    event: (verb: string, org: string, userId: string) => ({
      type: `organization_membership.${verb}`,
      timestamp: Date.now(),
      data: { organization_id: org, user_id: userId, role: 'member', updated_at: 1_000 },
    }),
    sign: (body: string) => standardHeaders(body, 'webhook'),
  },
} as const;

/** Delivers events in turn, each once the one before is applied. */
async function deliver(...events: object[]): Promise<void> {
  for (const event of events) {
    const id = `msg_${randomUUID()}`;
    const answer = await postClerk(api, event, { id });
    expect([answer.status, answer.body], answer.text).toMatchObject([202, { duplicate: false, ignored: false }]);
    await until('the event applied', 30_000, () =>
      api.postgres('identity_events').where({ provider: 'clerk', event_id: id }).first('event_id'),
    );
  }
}

interface Context {
  user: { id: string };
  role: string;
  workspace: { id: string; name: string; plan: string };
  projects: { id: string; is_default: boolean }[];
}

const contextOf = (subject: string, org: string) =>
  api.call<Context>('getContext', { token: tokenFor(api, subject, { org_id: org }) });

/** The role that a token of the organization has now; undefined when it is refused. */
async function roleOf(subject: string, org: string): Promise<string | undefined> {
  const answer = await contextOf(subject, org);
  if (answer.status === 429) throw new Error('Too many tokens were tried, which says nothing of the role');
  return answer.status === 200 ? answer.body.role : undefined;
}

const untilRole = (subject: string, org: string, role: string | undefined) =>
  until(`${subject} is ${role}`, 30_000, async () => (await roleOf(subject, org)) === role);

/** The operator changes the role of a member of an organization. */
async function changeRole(subject: string, org: string, role: string): Promise<void> {
  const { workspace, user: member } = (await contextOf(subject, org)).body;
  const params = { workspace_id: workspace.id, user_id: member.id };
  await api.admin('updateMember', { params, body: { role } }, 200);
  await untilRole(subject, org, role);
}

async function actionsIn(org: string): Promise<string[]> {
  const rows = await api
    .postgres('audit_log as a')
    .join('workspaces as w', 'w.id', 'a.workspace_id')
    .where({ external_org_id: org, actor_type: 'identity_provider', actor_id: 'clerk' })
    .orderBy('a.id')
    .select('action');
  return rows.map(({ action }) => action);
}

describe('an organization of Clerk', () => {
  test('comes with its name, plan and default project; its creator owns it, others have the role of their name', async () => {
    const { org, ann, bob } = newCast();
    await deliver(
      user('created', ann, 1_000),
      organization('created', org, 2_000, { created_by: ann }),
      membership('created', org, ann, 'org:admin', 3_000),
      membership('created', org, bob, 'org:admin', 4_000),
    );
    const { body } = await contextOf(ann, org);
    expect(body).toMatchObject({
      role: 'owner',
      workspace: { name: 'Acme', plan: 'free' },
      projects: [{ is_default: true }],
    });
    expect(await roleOf(bob, org)).toBe('admin');
    await deliver(membership('updated', org, bob, 'org:billing_manager', 5_000));
    await untilRole(bob, org, 'viewer');
    expect(await actionsIn(org)).toEqual(['workspace.created', 'member.added', 'member.added', 'member.role_changed']);
  });

  test('that is spoken of before its own event works at once, under its id', async () => {
    const { org, bob } = newCast();
    await deliver(membership('created', org, bob, 'org:member', 3_000));
    expect((await contextOf(bob, org)).body).toMatchObject({ role: 'member', workspace: { name: org } });
    await deliver(organization('created', org, 1_000));
    expect((await contextOf(bob, org)).body.workspace.name).toBe('Acme');
    await deliver(organization('updated', org, 900, { name: 'Older' }));
    expect((await contextOf(bob, org)).body.workspace.name).toBe('Acme');
  });

  test('that is deleted is closed to its members', async () => {
    const { org, bob } = newCast();
    await deliver(organization('created', org, 1_000), membership('created', org, bob, 'org:owner', 2_000));
    await untilRole(bob, org, 'owner');
    await deliver(organization('deleted', org, 3_000), membership('deleted', org, bob, 'org:owner', 3_000));
    await untilRole(bob, org, undefined);
    expect(await actionsIn(org)).toEqual(['workspace.created', 'member.added', 'workspace.deleted', 'member.removed']);
  });
});

describe('a membership', () => {
  test('that is deleted is over within a second, and an older event does not bring it back', async () => {
    const { org, bob } = newCast();
    await deliver(membership('created', org, bob, 'org:member', 2_000));
    await untilRole(bob, org, 'member');
    const goneAtMs = performance.now();
    await deliver(membership('deleted', org, bob, 'org:member', 3_000));
    await untilRole(bob, org, undefined);
    expect(performance.now() - goneAtMs).toBeLessThan(1_500);
    await deliver(membership('updated', org, bob, 'org:admin', 2_500));
    expect(await roleOf(bob, org)).toBeUndefined();
    await deliver(membership('created', org, bob, 'org:admin', 4_000));
    await untilRole(bob, org, 'admin');
  });

  test('of the last owner is kept, which is written down; it goes once there is another owner', async () => {
    const { org, ann, bob } = newCast();
    await deliver(
      membership('created', org, ann, 'org:owner', 1_000),
      membership('created', org, bob, 'org:member', 1_000),
      membership('deleted', org, ann, 'org:owner', 2_000),
    );
    expect(await roleOf(ann, org)).toBe('owner');
    expect((await actionsIn(org)).at(-1)).toBe('member.last_owner_kept');
    await deliver(membership('updated', org, bob, 'org:owner', 3_000));
    await untilRole(bob, org, 'owner');
    await untilRole(ann, org, undefined);
    expect((await actionsIn(org)).slice(-2).sort()).toEqual(['member.removed', 'member.role_changed']);
  });

  test('that a member changed here stays so until the provider says something newer', async () => {
    const { org, ann, bob } = newCast();
    await deliver(
      organization('created', org, 1_000, { created_by: ann }),
      membership('created', org, ann, 'org:admin', 1_000),
      membership('created', org, bob, 'org:member', 1_000),
    );
    await untilRole(ann, org, 'owner');
    const token = tokenFor(api, ann, { org_id: org });
    const [annHere, bobHere] = [(await contextOf(ann, org)).body, (await contextOf(bob, org)).body];
    const change = (userId: string, role: string) =>
      api.call('updateMember', {
        token,
        params: { workspace_id: annHere.workspace.id, user_id: userId },
        body: { role },
      });
    expect((await change(bobHere.user.id, 'owner')).status).toBe(200);
    expect((await change(annHere.user.id, 'admin')).status).toBe(200);

    // Late words, and words on others, change nothing of what was decided here.
    await deliver(
      membership('updated', org, bob, 'org:viewer', 2_000),
      membership('updated', org, ann, 'org:admin', 2_000),
      organization('updated', org, 2_000, { created_by: ann }),
    );
    expect([await roleOf(ann, org), await roleOf(bob, org)]).toEqual(['admin', 'owner']);
    await deliver(membership('deleted', org, bob, 'org:member', Date.now() + 60_000));
    expect(await roleOf(bob, org), 'the last owner').toBe('owner');
    await deliver(membership('updated', org, ann, 'org:admin', Date.now() + 60_000));
    await untilRole(ann, org, 'owner');
    await untilRole(bob, org, undefined);
  });

  test.each(['clerk', 'workos', 'generic'] as const)(
    'that %s deletes is over, though its role was changed here after the time that the object has',
    async (provider) => {
      const { org, bob } = newCast();
      const { event, sign } = senders[provider];
      const say = async (verb: string) => {
        const body = JSON.stringify(event(verb, org, bob));
        expect((await postWebhook(api.url, provider, body, sign(body))).status).toBe(202);
      };
      await say('created');
      await untilRole(bob, org, 'member');
      await changeRole(bob, org, 'admin');
      await say('deleted');
      await untilRole(bob, org, undefined);
    },
  );

  test('that the provider had deleted when its role was changed here is over, unless the provider gave it again', async () => {
    const { org, ann, bob } = newCast();
    await deliver(
      membership('created', org, ann, 'org:member', 1_000),
      membership('created', org, bob, 'org:member', 1_000),
      membership('created', org, bob, 'org:member', 3_000),
    );
    await changeRole(ann, org, 'admin');
    await changeRole(bob, org, 'admin');
    await deliver(
      membership('deleted', org, ann, 'org:member', 1_000, 2_000),
      membership('deleted', org, bob, 'org:member', 1_000, 2_000),
    );
    await untilRole(ann, org, undefined);
    expect(await roleOf(bob, org)).toBe('admin');
    await deliver(membership('updated', org, ann, 'org:member', 1_500));
    expect(await roleOf(ann, org)).toBeUndefined();
    await deliver(membership('created', org, ann, 'org:member', 3_000));
    await untilRole(ann, org, 'member');
  });

  test('of WorkOS begins when the invitation is accepted', async () => {
    const { org, bob } = newCast();
    const say = async (status: string, at: string) => {
      const data = { organization_id: org, user_id: bob, role: { slug: 'admin' }, status, updated_at: at };
      const body = JSON.stringify({ id: `event_${randomUUID()}`, event: 'organization_membership.updated', data });
      expect((await postWebhook(api.url, 'workos', body, workosHeaders(body))).status).toBe(202);
    };
    await say('active', '2026-01-02T00:00:00.000Z');
    await untilRole(bob, org, 'admin');
    await say('pending', '2026-01-01T00:00:00.000Z');
    await say('inactive', '2026-01-03T00:00:00.000Z');
    await untilRole(bob, org, undefined);
  });
});

describe('a deleted user', () => {
  test('is refused everywhere within a second, forgotten by name, and never comes back', async () => {
    const { org, bob } = newCast();
    await deliver(user('created', bob, 1_000), membership('created', org, bob, 'org:member', 1_000));
    await untilRole(bob, org, 'member');
    const token = tokenFor(api, bob);
    expect((await api.call('getContext', { token })).status).toBe(200);
    const goneAtMs = performance.now();
    await deliver({ type: 'user.deleted', data: { id: bob, deleted: true, object: 'user' }, timestamp: 2_000 });
    await until('the token is refused', 30_000, async () => (await api.call('getContext', { token })).status === 401);
    expect(performance.now() - goneAtMs).toBeLessThan(1_500);
    await deliver(
      user('updated', bob, 1_500),
      user('created', bob, 9_000),
      membership('updated', org, bob, 'org:admin', 9_000),
    );
    expectProblem(await api.call('getContext', { token }), 401, 'invalid_credentials');
    const row = await api.postgres('users').where({ subject: bob }).first();
    expect(row).toMatchObject({ email: null, name: null, deleted_at: new Date(2_000) });
    const active = await api.postgres('memberships').where({ user_id: row.id, workspace_id: await workspaceOf(org) });
    expect(active.map(({ removed_at: at }) => at)).toEqual([new Date(2_000)]);
  });

  test('who was never seen leaves a tombstone, and their token makes no new user', async () => {
    const { bob } = newCast();
    await deliver({ type: 'user.deleted', data: { id: bob, deleted: true } });
    expectProblem(await api.call('getContext', { token: tokenFor(api, bob) }), 401, 'invalid_credentials');
    await deliver(user('created', bob, 1_000));
    expectProblem(await api.call('getContext', { token: tokenFor(api, bob) }), 401, 'invalid_credentials');
  });

  test('who was the last owner stays so in the books, and has no access either', async () => {
    const { org, ann } = newCast();
    await deliver(membership('created', org, ann, 'org:owner', 1_000));
    await untilRole(ann, org, 'owner');
    await deliver({ type: 'user.deleted', data: { id: ann, deleted: true }, timestamp: 2_000 });
    await untilRole(ann, org, undefined);
    expect((await actionsIn(org)).at(-1)).toBe('member.last_owner_kept');
    const [row] = await api.postgres('memberships').where({ workspace_id: await workspaceOf(org) });
    expect(row).toMatchObject({ role: 'owner', removed_at: null });
  });

  test('leaves the keys of their projects in force', async () => {
    const { org, ann } = newCast();
    await deliver(membership('created', org, ann, 'org:owner', 1_000));
    const { body } = await contextOf(ann, org);
    const options = { params: { project_id: body.projects[0]?.id ?? '' }, body: { name: 'ci' } };
    const { key } = await api.admin<{ key: string }>('createApiKey', options, 201);
    await deliver({ type: 'user.deleted', data: { id: ann, deleted: true }, timestamp: 2_000 });
    await untilRole(ann, org, undefined);
    expect((await api.call('getContext', { key })).status).toBe(200);
  });
});

describe('an event', () => {
  test('tells every process of its user and workspace in its own transaction, and run again changes nothing', async () => {
    const { org, bob } = newCast();
    const change = { kind: 'membership', verb: 'created', organizationId: org, subject: bob } as const;
    const event = identityEvent(1_000, { ...change, role: 'member', active: true });
    const deps = { postgres: api.postgres, defaultPlan: 'free' } as const;
    expect(await applyIdentityEvent(deps, event)).toBe('applied');
    const audited = await auditedOf(event.eventId);
    const { id: userId } = await api.postgres('users').where({ subject: bob }).first('id');
    const told = await api.postgres('changes').where({ subject_id: userId }).select('topic');
    expect(told).toEqual([{ topic: 'user' }]);
    expect(await applyIdentityEvent(deps, event)).toBe('duplicate');
    expect(await auditedOf(event.eventId)).toEqual(audited);
    expect(audited.sort()).toEqual(['member.added', 'user.created', 'workspace.created']);
  });

  test('is remembered for 30 days', async () => {
    const ids = [`old_${randomUUID()}`, `young_${randomUUID()}`];
    const day = 24 * 60 * 60_000;
    const rows = ids.map((id, index) => ({
      provider: 'clerk',
      event_id: id,
      type: 'user.created',
      occurred_at: new Date(),
      outcome: 'applied',
      received_at: new Date(Date.now() - (30 * day + (index === 0 ? 60_000 : -60_000))),
    }));
    await api.postgres('identity_events').insert(rows);
    expect(await pruneIdentityEvents({ postgres: api.postgres })).toBeGreaterThanOrEqual(1);
    const left = await api.postgres('identity_events').whereIn('event_id', ids).select('event_id');
    expect(left).toEqual([{ event_id: ids[1] }]);
  });
});

async function auditedOf(eventId: string): Promise<string[]> {
  const rows = await api
    .postgres('audit_log')
    .whereRaw("details->>'event_id' = ?", [eventId])
    .orderBy('id')
    .select('action');
  return rows.map(({ action }) => action);
}

async function workspaceOf(org: string): Promise<string> {
  const { id } = await api.postgres('workspaces').where({ external_org_id: org }).first('id');
  return id;
}
