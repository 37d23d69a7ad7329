import { describe, expect, test } from 'vitest';
import { type KnownMembership, resolveMemberships } from '../../../src/domains/identity/resolve-memberships.ts';

function known(name: string, changed: Partial<KnownMembership> = {}): KnownMembership {
  const sourceRole = changed.sourceRole ?? 'member';
  return {
    userId: `usr_${name}`,
    subject: name,
    sourceRole,
    sourceRemoved: false,
    changedAtMs: 1,
    strongestRole: sourceRole,
    isCreator: false,
    userDeletedAtMs: undefined,
    ...changed,
  };
}

/** `name: role` of those in force, with a star for one who was kept. */
function inForce(all: KnownMembership[], workspace = { deleted: false }): string[] {
  return resolveMemberships(all, workspace)
    .filter(({ removedAtMs }) => removedAtMs === undefined)
    .map(({ userId, role, keptAsLastOwner }) => `${userId.slice(4)}: ${role}${keptAsLastOwner ? '*' : ''}`);
}

describe('who owns an organization', () => {
  test('its creator, as long as they are an admin; other admins stay admins', () => {
    const admins = [known('ann', { sourceRole: 'admin', isCreator: true }), known('bob', { sourceRole: 'admin' })];
    expect(inForce(admins)).toEqual(['ann: owner', 'bob: admin']);
  });

  test('whoever the provider calls owner', () => {
    expect(inForce([known('ann', { sourceRole: 'owner' }), known('bob')])).toEqual(['ann: owner', 'bob: member']);
  });

  test('nobody, when there is neither: no role is made up', () => {
    expect(inForce([known('ann', { sourceRole: 'admin' }), known('bob')])).toEqual(['ann: admin', 'bob: member']);
  });
});

describe('the last owner', () => {
  const removed = { sourceRemoved: true, strongestRole: 'owner' } as const;

  test('is kept when removed, when demoted and when the user is deleted', () => {
    expect(inForce([known('ann', { ...removed, sourceRole: 'owner' }), known('bob')])).toEqual([
      'ann: owner*',
      'bob: member',
    ]);
    expect(inForce([known('ann', { strongestRole: 'owner' })])).toEqual(['ann: owner*']);
    expect(inForce([known('ann', { sourceRole: 'owner', userDeletedAtMs: 5 })])).toEqual(['ann: owner*']);
    expect(inForce([known('ann', { isCreator: true, strongestRole: 'admin' })])).toEqual(['ann: owner*']);
  });

  test('is not kept while there is another, who must be present', () => {
    const ann = known('ann', removed);
    expect(inForce([ann, known('bob', { sourceRole: 'owner' })])).toEqual(['bob: owner']);
    expect(inForce([ann, known('bob', { sourceRole: 'admin', isCreator: true })])).toEqual(['bob: owner']);
    expect(inForce([ann, known('bob', { sourceRole: 'owner', userDeletedAtMs: 9 })])).toEqual(['bob: owner*']);
  });

  test('is the one who was it last, and of two at the same time always the same one', () => {
    const all = [known('ann', { ...removed, changedAtMs: 3 }), known('bob', { ...removed, changedAtMs: 7 })];
    expect(inForce(all)).toEqual(['bob: owner*']);
    const tied = [known('bob', removed), known('ann', removed)];
    expect(inForce(tied)).toEqual(['ann: owner*']);
    expect(inForce([...tied].reverse())).toEqual(['ann: owner*']);
  });

  test('of a deleted organization is not kept', () => {
    expect(inForce([known('ann', removed)], { deleted: true })).toEqual([]);
  });

  test('must have been one: a removed admin who created nothing is gone', () => {
    expect(inForce([known('ann', { sourceRemoved: true, strongestRole: 'admin' })])).toEqual([]);
  });
});

test('a membership of a deleted user is removed at the first of both times', () => {
  const both = known('ann', { sourceRemoved: true, changedAtMs: 4, userDeletedAtMs: 3 });
  const one = known('bob', { userDeletedAtMs: 6 });
  expect(resolveMemberships([both, one], { deleted: false }).map(({ removedAtMs }) => removedAtMs)).toEqual([3, 6]);
});
