import type { UserId } from '../../lib/ids.ts';
import { type Role, roleSuffices } from '../workspaces/index.ts';

/** What is known about one membership. Times are in milliseconds since the epoch. */
export interface KnownMembership {
  userId: UserId;
  /** The provider's id of the user. */
  subject: string;
  /** The latest statement about the membership, and its time. */
  sourceRole: Role;
  sourceRemoved: boolean;
  changedAtMs: number;
  /** The strongest role that the membership ever had. */
  strongestRole: Role;
  /** Whether the user created the organization and the latest statement is from the provider. */
  isCreator: boolean;
  userDeletedAtMs: number | undefined;
}

/** The membership that applies. */
export interface ResolvedMembership {
  userId: UserId;
  role: Role;
  removedAtMs: number | undefined;
  /** The provider removed the membership, but nobody else owns the workspace. */
  keptAsLastOwner: boolean;
}

/**
 * Decides which memberships apply from everything known, so the order of events does not
 * matter. The creator owns the organization as long as the provider gives them the role `admin`. If
 * no owner is left, the last owner is kept.
 */
export function resolveMemberships(
  known: readonly KnownMembership[],
  workspace: { deleted: boolean },
): ResolvedMembership[] {
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

/**
 * Finds the last owner: of all members who ever owned the workspace, the one whose membership
 * changed last. At that change the workspace lost its owner.
 */
function lastOwner(known: readonly KnownMembership[]): KnownMembership | undefined {
  const [last] = known
    .filter(({ strongestRole, isCreator }) => roleSuffices(strongestRole, isCreator ? 'admin' : 'owner'))
    .sort((a, b) => endedAtMs(b) - endedAtMs(a) || (a.subject < b.subject ? -1 : 1));
  return last;
}

function endedAtMs({ changedAtMs, userDeletedAtMs }: KnownMembership): number {
  return Math.max(changedAtMs, userDeletedAtMs ?? changedAtMs);
}
