import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { applyIdentityEvent } from '../../src/domains/identity/apply-identity-event.ts';
import type { IdentityChange, IdentityEvent } from '../../src/queue/identity-event.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { type IdentityState, identityEvent, readIdentityState } from '../support/identity-state.ts';

let postgres: Postgres;
beforeAll(() => {
  postgres = connectPostgres(inject('databaseUrl'), 8);
});
afterAll(() => postgres.destroy());

interface Told {
  atMs: number;
  change: IdentityChange;
}

const verb = fc.constantFrom('created', 'updated', 'deleted');
const subject = fc.constantFrom('ann', 'bob');
const organizationId = fc.constantFrom('acme', 'beta');
const word = fc.constantFrom('x', 'y', 'z');

const change: fc.Arbitrary<IdentityChange> = fc.oneof(
  fc.record({ kind: fc.constant('user'), verb, subject, email: fc.option(word), name: fc.option(word) }),
  fc.record({
    kind: fc.constant('organization'),
    verb,
    organizationId,
    name: word,
    createdBy: fc.option(fc.constant('ann')),
  }),
  fc
    .record({
      kind: fc.constant('membership'),
      verb,
      organizationId,
      subject,
      role: fc.constantFrom('viewer', 'member', 'admin', 'owner'),
      active: fc.boolean(),
    })
    .map((membership) => ({ ...membership, active: membership.active && membership.verb !== 'deleted' })),
);
/** Few times, so that many things are said in the same millisecond. */
const told: fc.Arbitrary<Told> = fc.record({ atMs: fc.integer({ min: 1, max: 4 }).map((n) => n * 1_000), change });

/** A history, and another order of it in which some events come more than once. */
const histories = fc.array(told, { minLength: 2, maxLength: 9 }).chain((history) =>
  fc.record({
    history: fc.constant(history),
    shuffled: fc
      .tuple(
        fc.shuffledSubarray(history, { minLength: history.length }),
        fc.subarray(history),
        fc.infiniteStream(fc.nat()),
      )
      .map(([all, again, at]) => {
        const order = [...all];
        for (const event of again) order.splice((at.next().value ?? 0) % (order.length + 1), 0, event);
        return order;
      }),
  }),
);

/** Of the same length for every run, so that what is compared by letters compares alike. */
const newPrefix = () => `${randomUUID()}:`;

function eventsOf(prefix: string, history: readonly Told[]): IdentityEvent[] {
  const ids = new Map<Told, string>();
  return history.map((item) => {
    const { change: said } = item;
    const eventId = ids.get(item) ?? `${prefix}${ids.size}`;
    ids.set(item, eventId);
    const placed = {
      ...said,
      ...('subject' in said ? { subject: prefix + said.subject } : {}),
      ...('organizationId' in said ? { organizationId: prefix + said.organizationId } : {}),
      ...('createdBy' in said && said.createdBy !== null ? { createdBy: prefix + said.createdBy } : {}),
    };
    return identityEvent(item.atMs, placed, eventId);
  });
}

const deps = () => ({ postgres, defaultPlan: 'team' }) as const;

async function stateAfter(history: readonly Told[], how: 'in turn' | 'at once'): Promise<IdentityState> {
  const prefix = newPrefix();
  const events = eventsOf(prefix, history);
  if (how === 'at once') await Promise.all(events.map((event) => applyIdentityEvent(deps(), event)));
  else for (const event of events) await applyIdentityEvent(deps(), event);
  return readIdentityState(postgres, prefix);
}

describe('events of users, organizations and memberships', () => {
  test('end in the same state in any order and with any repetition', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ history, shuffled }) => {
        expect(await stateAfter(shuffled, 'in turn')).toEqual(await stateAfter(history, 'in turn'));
      }),
      { numRuns: 60 },
    );
  });

  test('end in the same state when several workers apply them at once', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ history, shuffled }) => {
        expect(await stateAfter(shuffled, 'at once')).toEqual(await stateAfter(history, 'in turn'));
      }),
      { numRuns: 30 },
    );
  });

  test('every order of one life of a user and a membership ends with both gone', async () => {
    const member = { kind: 'membership', organizationId: 'acme', subject: 'ann', role: 'member' } as const;
    const user = { kind: 'user', subject: 'ann', email: 'a@x', name: 'Ann' } as const;
    const life: Told[] = [
      { atMs: 1_000, change: { ...user, verb: 'created' } },
      { atMs: 1_500, change: { ...member, verb: 'created', active: true } },
      { atMs: 2_000, change: { ...member, verb: 'deleted', active: false } },
      { atMs: 3_000, change: { ...user, verb: 'deleted', email: null, name: null } },
    ];
    for (const order of permutations(life)) {
      const state = await stateAfter(order, 'in turn');
      expect(state).toMatchObject({
        users: [{ subject: 'ann', email: null, name: null, deleted: 3_000 }],
        members: [],
        removed: [{ organization: 'acme', subject: 'ann', at: 2_000 }],
        workspaces: [{ organization: 'acme', name: 'acme', plan: 'team', defaultProjects: 1, deleted: null }],
      });
    }
  });
});

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}
