import { describe, expect, test } from 'vitest';
import type { ReceivedEvent } from '../../../src/domains/identity/identity-provider.ts';
import { identityProviders } from '../../../src/domains/identity/identity-providers.ts';
import { applyIdentityEventPayload, sourceTime } from '../../../src/queue/identity-event.ts';

const { clerk, workos, generic } = identityProviders;
const sentAtMs = 1_700_000_000_000;
const standard = { 'webhook-id': 'msg_1', 'webhook-timestamp': `${sentAtMs / 1_000}`, 'webhook-signature': 'v1,x' };

function event(payload: unknown, headers: Record<string, string> = standard): ReceivedEvent {
  return { headers, payload };
}
const workosEvent = (payload: object) =>
  event({ id: 'event_1', ...payload }, { 'workos-signature': `t=${sentAtMs}, v1=${'0'.repeat(64)}` });

describe('Clerk', () => {
  // clerk.com/docs/guides/development/webhooks/overview, "Payload structure", with what does not matter here left out.
  const published = {
    data: {
      birthday: '',
      created_at: 1654012591514,
      email_addresses: [
        { email_address: 'other@example.org', id: 'idn_other', object: 'email_address' },
        {
          email_address: 'exaple@example.org',
          id: 'idn_29w83yL7CwVlJXylYLxcslromF1',
          linked_to: [],
          object: 'email_address',
        },
      ],
      external_id: '567772',
      first_name: 'Example',
      id: 'user_29w83sxmDNGwOuEthce5gg56FcC',
      last_name: 'Example',
      object: 'user',
      primary_email_address_id: 'idn_29w83yL7CwVlJXylYLxcslromF1',
      updated_at: 1654012591835,
      username: null,
    },
    instance_id: 'ins_123',
    object: 'event',
    timestamp: 1654012591999,
    type: 'user.created',
  };

  test('a published user is read with the primary address, ordered by its own time', () => {
    expect(clerk.toChange(event(published))).toEqual({
      kind: 'user',
      verb: 'created',
      subject: 'user_29w83sxmDNGwOuEthce5gg56FcC',
      email: 'exaple@example.org',
      name: 'Example Example',
    });
    expect(clerk.extractOccurredAt(event(published))).toBe(1654012591835);
    expect(clerk.extractId(event(published))).toBe('msg_1');
  });

  test('a published deletion has nothing but the id, and the time of the event counts, else of the delivery', () => {
    const deletion = {
      data: { deleted: true, id: 'user_29wBMCtzATuFJut8jO2VNTVekS4', object: 'user' },
      object: 'event',
      type: 'user.deleted',
    };
    expect(clerk.toChange(event(deletion))).toMatchObject({
      verb: 'deleted',
      subject: 'user_29wBMCtzATuFJut8jO2VNTVekS4',
    });
    expect(clerk.extractOccurredAt(event({ ...deletion, timestamp: 1661861640000 }))).toBe(1661861640000);
    expect(clerk.extractOccurredAt(event(deletion))).toBe(sentAtMs);
  });

  test('organizations come with their creator, memberships with the role by its name', () => {
    const organization = { id: 'org_1', name: ' Acme Inc ', created_by: 'user_1', updated_at: 1654013202977 };
    expect(clerk.toChange(event({ type: 'organization.updated', data: organization }))).toEqual({
      kind: 'organization',
      verb: 'updated',
      organizationId: 'org_1',
      name: 'Acme Inc',
      createdBy: 'user_1',
    });
    const membership = { organization, public_user_data: { user_id: 'user_2' }, role: 'org:admin' };
    expect(clerk.toChange(event({ type: 'organizationMembership.deleted', data: membership }))).toEqual({
      kind: 'membership',
      verb: 'deleted',
      organizationId: 'org_1',
      subject: 'user_2',
      role: 'admin',
      active: false,
    });
  });

  test.each([
    ['org:owner', 'owner'],
    ['org:admin', 'admin'],
    ['admin', 'admin'],
    ['org:member', 'member'],
    ['org:viewer', 'viewer'],
    ['org:billing_manager', 'viewer'],
    ['basic_member', 'viewer'],
    ['', 'viewer'],
    [null, 'viewer'],
  ])('the role %j is %s', (role, expected) => {
    const data = { organization: { id: 'org_1' }, public_user_data: { user_id: 'user_2' }, role };
    expect(clerk.toChange(event({ type: 'organizationMembership.created', data }))).toMatchObject({ role: expected });
  });
});

describe('WorkOS', () => {
  // workos.com/docs/events, "organization_membership.created".
  const membership = {
    object: 'organization_membership',
    id: 'om_01E4ZCR3C56J083X43JQXF3JK5',
    user_id: 'user_01E4ZCR3C5A4QZ2Z2JQXGKZJ9E',
    organization_id: 'org_01E4ZCR3C56J083X43JQXF3JK5',
    status: 'pending',
    role: { slug: 'member' },
    created_at: '2023-11-16T21:32:25.235Z',
    updated_at: '2023-11-27T03:14:45.864Z',
  };
  const of = (changed: object, verb = 'created') =>
    workos.toChange(workosEvent({ event: `organization_membership.${verb}`, data: { ...membership, ...changed } }));

  test('a published membership counts once the invitation is accepted, and no longer when it is inactive or deleted', () => {
    expect(of({})).toEqual({
      kind: 'membership',
      verb: 'created',
      organizationId: membership.organization_id,
      subject: membership.user_id,
      role: 'member',
      active: false,
    });
    expect(of({ status: 'active' })).toMatchObject({ active: true });
    expect(of({ status: 'inactive' }, 'updated')).toMatchObject({ active: false });
    expect(of({ status: 'active' }, 'deleted')).toMatchObject({ active: false });
  });

  test("the id is the event's; the object's own time counts, else the event's, else the delivery's", () => {
    const payload = {
      event: 'organization_membership.created',
      created_at: '2023-11-16T16:32:25.239Z',
      data: membership,
    };
    expect(workos.extractId(workosEvent(payload))).toBe('event_1');
    expect(workos.extractOccurredAt(workosEvent(payload))).toBe(Date.parse(membership.updated_at));
    expect(workos.extractOccurredAt(workosEvent({ ...payload, data: {} }))).toBe(Date.parse(payload.created_at));
    expect(workos.extractOccurredAt(workosEvent({ ...payload, created_at: null, data: {} }))).toBe(sentAtMs);
  });

  test('users and organizations are read', () => {
    const user = { id: 'user_1', email: 'todd@example.com', first_name: 'Todd', last_name: null };
    expect(workos.toChange(workosEvent({ event: 'user.updated', data: user }))).toMatchObject({
      kind: 'user',
      email: 'todd@example.com',
      name: 'Todd',
    });
    const change = workos.toChange(
      workosEvent({ event: 'organization.created', data: { id: 'org_1', name: 'Foo Corp' } }),
    );
    expect(change).toMatchObject({ kind: 'organization', name: 'Foo Corp', createdBy: null });
  });
});

describe('generic', () => {
  test.each(['organizationMembership', 'organization_membership'])('%s is a membership', (kind) => {
    const data = { organization_id: 'o', user_id: 'u', role: 'owner' };
    expect(generic.toChange(event({ type: `${kind}.created`, timestamp: '2026-01-02T03:04:05Z', data }))).toMatchObject(
      {
        kind: 'membership',
        role: 'owner',
        active: true,
      },
    );
  });
});

describe('any provider', () => {
  test('a deletion has the latest of its times, because the object in it has the time of an earlier change', () => {
    const [oldMs, laterMs] = [sentAtMs - 9_000, sentAtMs - 4_000];
    const [old, later] = [oldMs, laterMs].map((ms) => new Date(ms).toISOString());
    for (const provider of [clerk, generic]) {
      const timeOf = (payload: object) => provider.extractOccurredAt(event({ type: 'user.deleted', ...payload }));
      expect(timeOf({ timestamp: laterMs, data: { updated_at: oldMs } })).toBe(laterMs);
      expect(timeOf({ timestamp: oldMs, data: { updated_at: laterMs } })).toBe(laterMs);
      expect(timeOf({ data: { updated_at: oldMs } })).toBe(sentAtMs);
      expect(timeOf({ timestamp: laterMs, data: {} })).toBe(laterMs);
    }
    const timeOf = (payload: object) => workos.extractOccurredAt(workosEvent({ event: 'user.deleted', ...payload }));
    expect(timeOf({ created_at: later, data: { updated_at: old } })).toBe(laterMs);
    expect(timeOf({ data: { updated_at: old } })).toBe(sentAtMs);
  });

  test.each([
    'session.created',
    'user.signed_in',
    'user',
    'user.created.again',
    'toString.created',
    '__proto__.deleted',
    'x',
  ])('the type %j changes nothing', (type) => {
    expect(clerk.toChange(event({ type, data: {} }))).toBeUndefined();
    expect(generic.toChange(event({ type }))).toBeUndefined();
    expect(workos.toChange(workosEvent({ event: type }))).toBeUndefined();
  });

  test.each<[unknown, string]>([
    [[], 'body'],
    ['text', 'body'],
    [null, 'body'],
    [{}, 'type'],
    [{ type: 'user.created' }, 'data'],
    [{ type: 'user.created', data: {} }, 'data.id'],
    [{ type: 'user.created', data: { id: '' } }, 'data.id'],
    [{ type: 'user.created', data: { id: { $ne: 1 } } }, 'data.id'],
    [{ type: 'user.created', data: { id: 'x'.repeat(256) } }, 'data.id'],
    [{ type: 'organizationMembership.created', data: { organization: { id: 'o' } } }, 'data.public_user_data'],
  ])('%j is refused, naming %s', (payload, path) => {
    expect(() => clerk.toChange(event(payload))).toThrow(`${path}: `);
  });

  test.each([-1, 1.5, 253_402_300_800_000, 'yesterday', {}])('the time %j is refused', (updatedAt) => {
    const payload = { type: 'user.created', data: { id: 'u', updated_at: updatedAt } };
    expect(() => clerk.extractOccurredAt(event(payload))).toThrow('data.updated_at');
  });

  test('names are trimmed, cut by characters and never empty for an organization', () => {
    const nameOf = (name: unknown) =>
      generic.toChange(event({ type: 'organization.created', data: { id: 'org_1', name } }));
    expect(nameOf('  ')).toMatchObject({ name: 'org_1' });
    expect(nameOf(null)).toMatchObject({ name: 'org_1' });
    expect(nameOf('😀'.repeat(300))).toMatchObject({ name: '😀'.repeat(200) });
    const change = nameOf('😀'.repeat(100));
    const job = { v: 1, provider: 'generic', eventId: 'e', type: 't', occurredAtMs: 0, change };
    expect(applyIdentityEventPayload.safeParse(job).success).toBe(true);
  });

  test('what a provider says within one millisecond is ordered: created, updated, deleted', () => {
    const times = (['created', 'updated', 'deleted'] as const).map((verb) => sourceTime(sentAtMs, verb));
    expect(times).toEqual([...times].sort());
    expect(times[0]).toBe('2023-11-14T22:13:20.000000Z');
    expect(sourceTime(sentAtMs + 1, 'created') > sourceTime(sentAtMs, 'deleted')).toBe(true);
  });
});
