import { ConflictError, ForbiddenError, NotFoundError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { recordAudit } from '../audit/index.ts';
import type { Caller } from './caller.ts';
import { unknownWorkspace } from './errors.ts';
import { findMember, hasOtherOwner, markRemoved, setRole } from './member-store.ts';
import type { Member, Role } from './workspace.ts';
import { lockWorkspace } from './workspace-store.ts';

/**
 * Changes the role of a member, or removes the member if `role` is undefined. Takes effect
 * everywhere within a second.
 * @throws NotFoundError for an unknown workspace or member
 * @throws ForbiddenError when a caller below owner adds or removes an owner
 * @throws ConflictError `last_owner` when no other owner would remain
 */
export async function changeMember(
  deps: { postgres: Postgres; invalidations: Pick<Invalidations, 'publish'> },
  input: { workspaceId: string; userId: string; role: Role | undefined; caller: Caller },
): Promise<Member> {
  const { workspaceId, userId, role, caller } = input;
  const member = await inTransaction(deps.postgres, async (transaction) => {
    // The lock serializes two owners who remove each other at the same time.
    if ((await lockWorkspace(transaction, workspaceId)) === undefined) throw unknownWorkspace();
    const before = await findMember(transaction, workspaceId, userId);
    if (before === undefined) {
      throw new NotFoundError('member_not_found', 'The workspace does not have this member.');
    }
    if (before.role === 'owner' || role === 'owner') requireOwner(caller);
    if (before.role === 'owner' && role !== 'owner' && !(await hasOtherOwner(transaction, workspaceId, userId))) {
      throw new ConflictError(
        'last_owner',
        'A workspace must have an owner. Give another member the role owner first.',
      );
    }
    const isChanged =
      role === undefined
        ? await markRemoved(transaction, workspaceId, userId)
        : await setRole(transaction, workspaceId, userId, role);
    if (isChanged) await recordChange(transaction, input, before);
    return { ...before, role: role ?? before.role };
  });
  await deps.invalidations.publish('user', [member.userId]);
  return member;
}

async function recordChange(
  transaction: Postgres,
  { workspaceId, role, caller }: { workspaceId: string; role: Role | undefined; caller: Caller },
  before: Member,
): Promise<void> {
  await recordAudit(transaction, {
    workspaceId,
    actor: caller.actor,
    action: role === undefined ? 'member.removed' : 'member.role_changed',
    targetType: 'user',
    targetId: before.userId,
    details: { before: before.role, after: role ?? null },
  });
}

function requireOwner({ authority }: Caller): void {
  if (authority === 'owner' || authority === 'operator') return;
  throw new ForbiddenError(
    'insufficient_role',
    `Only an owner may give or remove the role owner. Your role is ${authority}.`,
  );
}
