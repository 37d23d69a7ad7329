import type { UserId } from '../../lib/ids.ts';
import { type Role, roleSuffices } from '../workspaces/index.ts';

/** What is known of one membership. Times in milliseconds since the epoch. */
export interface KnownMembership {
  userId: UserId;
  /** The provider's id of the user. */
  subject: string;
  /** The last word on it, and when that was. */
  sourceRole: Role;
  sourceRemoved: boolean;
  changedAtMs: number;
  /** The strongest role ever given. */
  strongestRole: Role;
  /** The user created the organisation, and the last word is the provider's. */
  isCreator: boolean;
  userDeletedAtMs: number | undefined;
}

/** What is in force. */
export interface SettledMembership {
  userId: UserId;
  role: Role;
  removedAtMs: number | undefined;
  /** The provider took it back, but nobody else owns the workspace. */
  keptAsLastOwner: boolean;
}

/**
 * Decides from everything known what is in force, so that the order in which it became known does not matter. The creator owns the
 * organisation as long as the provider calls them an admin. When no owner is left, whoever was it last is kept.
 */
export function settleMemberships(
  known: readonly KnownMembership[],
  workspace: { deleted: boolean },
): SettledMembership[] {
  const hasOwner = known.some((membership) => isPresent(membership) && roleInForce(membership) === 'owner');
  const kept = hasOwner || workspace.deleted ? undefined : lastOwner(known);
  return known.map((membership) => ({
    userId: membership.userId,
    role: membership === kept ? 'owner' : roleInForce(membership),
    removedAtMs: membership === kept ? undefined : removedAtMs(membership),
    keptAsLastOwner: membership === kept,
  }));
}

function isPresent({ sourceRemoved, userDeletedAtMs }: KnownMembership): boolean {
  return !sourceRemoved && userDeletedAtMs === undefined;
}

function roleInForce({ sourceRole, isCreator }: KnownMembership): Role {
  return isCreator && sourceRole === 'admin' ? 'owner' : sourceRole;
}

function removedAtMs({ sourceRemoved, changedAtMs, userDeletedAtMs }: KnownMembership): number | undefined {
  if (!sourceRemoved) return userDeletedAtMs;
  return Math.min(changedAtMs, userDeletedAtMs ?? changedAtMs);
}

/** Of those who ever owned it, the one whose membership changed last: that was when the workspace lost its owner. */
function lastOwner(known: readonly KnownMembership[]): KnownMembership | undefined {
  const [last] = known
    .filter(({ strongestRole, isCreator }) => roleSuffices(strongestRole, isCreator ? 'admin' : 'owner'))
    .sort((a, b) => endedAtMs(b) - endedAtMs(a) || (a.subject < b.subject ? -1 : 1));
  return last;
}

function endedAtMs({ changedAtMs, userDeletedAtMs }: KnownMembership): number {
  return Math.max(changedAtMs, userDeletedAtMs ?? changedAtMs);
}
