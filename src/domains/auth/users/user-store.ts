import { newId, type UserId, type WorkspaceId } from '../../../lib/ids.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { inTransaction } from '../../../stores/postgres/transaction.ts';
import { recordAudit } from '../../audit/index.ts';
import { type PlanName, planNamed, planOverridesFrom, type Role } from '../../workspaces/index.ts';
import type { Membership, UserRecord } from './user-record.ts';

interface Row {
  id: UserId;
  deleted_at: Date | null;
  role: Role | null;
  workspace_id: WorkspaceId | null;
  plan: string;
  plan_overrides: unknown;
  external_org_id: string | null;
  owner_user_id: UserId | null;
}

/** Finds the user with this subject and all their workspaces. */
export async function findUserRecord(postgres: Postgres, subject: string): Promise<UserRecord | undefined> {
  const rows = await postgres('users')
    .leftJoin('memberships', (join) => join.on('memberships.user_id', 'users.id').andOnNull('memberships.removed_at'))
    .leftJoin('workspaces', (join) =>
      join.on('workspaces.id', 'memberships.workspace_id').andOnNull('workspaces.deleted_at'),
    )
    .where('users.subject', subject)
    .select<Row[]>(
      'users.id',
      'users.deleted_at',
      'memberships.role',
      'workspaces.id as workspace_id',
      'workspaces.plan',
      'workspaces.plan_overrides',
      'workspaces.external_org_id',
      'workspaces.owner_user_id',
    );
  const [first] = rows;
  if (first === undefined) return undefined;
  const personal = rows.find((row) => row.owner_user_id === first.id);
  return {
    userId: first.id,
    subject,
    deleted: first.deleted_at !== null,
    personalWorkspaceId: personal?.workspace_id ?? undefined,
    memberships: new Map(rows.flatMap((row) => toMembership(row) ?? []).map((each) => [each.workspace.id, each])),
  };
}

function toMembership(row: Row): Membership | undefined {
  if (row.workspace_id === null || row.role === null) return undefined;
  return {
    workspace: {
      id: row.workspace_id,
      plan: planNamed(row.plan),
      overrides: planOverridesFrom(row.plan_overrides),
    },
    role: row.role,
    orgId: row.external_org_id ?? undefined,
  };
}

export interface NewUser {
  subject: string;
  email: string | undefined;
  name: string | undefined;
  plan: PlanName;
}

/**
 * Makes sure that the user exists with a personal workspace and its default project. Concurrent
 * calls create them once, because the row of the user is locked. Creates nothing for a deleted
 * user.
 */
export async function ensureUser(postgres: Postgres, user: NewUser): Promise<void> {
  await inTransaction(postgres, async (transaction) => {
    const { subject, email = null, name = null } = user;
    await transaction('users')
      .insert({ id: newId('usr'), subject, email, name })
      .onConflict('subject')
      .ignore();
    const stored = await transaction('users')
      .where({ subject })
      .forUpdate()
      .first<{ id: UserId; deleted_at: Date | null } | undefined>('id', 'deleted_at');
    if (stored === undefined || stored.deleted_at !== null) return;
    const owned = await transaction('workspaces').where({ owner_user_id: stored.id }).first('id');
    if (owned === undefined) await insertPersonalWorkspace(transaction, stored.id, user.plan);
  });
}

async function insertPersonalWorkspace(transaction: Postgres, userId: UserId, plan: PlanName): Promise<void> {
  const workspaceId = newId('wsp');
  await transaction('workspaces').insert({
    id: workspaceId,
    name: 'Personal',
    plan,
    kind: 'personal',
    owner_user_id: userId,
  });
  await transaction('memberships').insert({ workspace_id: workspaceId, user_id: userId, role: 'owner' });
  await transaction('projects').insert({
    id: newId('prj'),
    workspace_id: workspaceId,
    name: 'default',
    is_default: true,
  });
  await recordAudit(transaction, {
    workspaceId,
    actor: { type: 'system', id: null, requestId: null },
    action: 'workspace.created',
    targetType: 'workspace',
    targetId: workspaceId,
    details: { kind: 'personal', plan, user_id: userId },
  });
}
