import type { UserId, WorkspaceId } from '../../lib/ids.ts';
import type { IdentityChange } from '../../queue/identity-event.ts';
import { type AuditEntry, recordAudit } from '../audit/index.ts';
import type { PlanName } from '../workspaces/index.ts';
import { applyMemberships, type EventContext } from './apply-memberships.ts';
import { putSourceMembership } from './identity-membership-store.ts';
import { deleteUser, lockUser, updateUser } from './identity-user-store.ts';
import {
  deleteOrganization,
  lockOrganization,
  lockWorkspacesOf,
  setCreator,
  updateOrganization,
} from './identity-workspace-store.ts';

export interface ChangeContext extends EventContext {
  /** Plan of a workspace that is created for an organization. */
  plan: PlanName;
  /** Time of the change at the provider, see `sourceTime`. */
  at: string;
}

type ChangeOf<Kind extends IdentityChange['kind']> = Extract<IdentityChange, { kind: Kind }>;

/**
 * Stores one change and applies its consequences. Creates users and workspaces that it refers to
 * and that do not exist yet. Resolves to false when newer data was already known.
 */
export function applyChange(context: ChangeContext, change: IdentityChange): Promise<boolean> {
  if (change.kind === 'user') {
    return change.verb === 'deleted' ? applyUserDeletion(context, change) : applyUser(context, change);
  }
  return change.kind === 'organization' ? applyOrganization(context, change) : applyMembership(context, change);
}

async function applyUser(context: ChangeContext, { subject, email, name }: ChangeOf<'user'>): Promise<boolean> {
  const user = await knownUser(context, subject);
  const news = await updateUser(context.transaction, user.id, { email, name, at: context.at });
  if (news && !user.isNew) await auditUser(context, 'user.updated', user.id);
  return news;
}

async function applyUserDeletion(context: ChangeContext, { subject }: ChangeOf<'user'>): Promise<boolean> {
  const { id } = await knownUser(context, subject);
  const news = await deleteUser(context.transaction, id, context.at);
  if (news) await auditUser(context, 'user.deleted', id);
  for (const workspaceId of await lockWorkspacesOf(context.transaction, id)) {
    await applyMemberships(context, { workspaceId, userIds: [id], news });
  }
  return news;
}

async function applyOrganization(context: ChangeContext, change: ChangeOf<'organization'>): Promise<boolean> {
  const { transaction, at } = context;
  const workspace = await knownWorkspace(context, change.organizationId);
  const { id } = workspace;
  const hasCreator = change.createdBy !== null && (await setCreator(transaction, id, change.createdBy));
  const isDeletion = change.verb === 'deleted';
  const stored = isDeletion
    ? await deleteOrganization(transaction, id, at)
    : await updateOrganization(transaction, id, { name: change.name, at });
  if (stored && (isDeletion || !workspace.isNew)) {
    await auditWorkspace(context, isDeletion ? 'workspace.deleted' : 'workspace.updated', id);
  }
  await applyMemberships(context, { workspaceId: id, userIds: [], news: false });
  return stored || hasCreator;
}

async function applyMembership(context: ChangeContext, change: ChangeOf<'membership'>): Promise<boolean> {
  const { transaction, at } = context;
  // Users are locked before workspaces, here and when a user is deleted, so that no deadlock
  // occurs.
  const { id: userId } = await knownUser(context, change.subject);
  const { id: workspaceId } = await knownWorkspace(context, change.organizationId);
  const said = { role: change.role, removed: !change.active, at };
  const news = await putSourceMembership(transaction, { workspaceId, userId }, said);
  await applyMemberships(context, { workspaceId, userIds: [userId], news });
  return news;
}

async function knownUser(context: ChangeContext, subject: string): Promise<{ id: UserId; isNew: boolean }> {
  const user = await lockUser(context.transaction, subject);
  if (user.isNew) await auditUser(context, 'user.created', user.id);
  return user;
}

async function knownWorkspace(context: ChangeContext, organizationId: string) {
  const { plan } = context;
  const workspace = await lockOrganization(context.transaction, organizationId, plan);
  const facts = { kind: 'organization', plan, organization_id: organizationId };
  if (workspace.isNew) await auditWorkspace(context, 'workspace.created', workspace.id, facts);
  return workspace;
}

function auditUser(context: ChangeContext, action: string, id: UserId): Promise<void> {
  return audit(context, { workspaceId: null, action, targetType: 'user', targetId: id });
}

function auditWorkspace(context: ChangeContext, action: string, id: WorkspaceId, details = {}): Promise<void> {
  return audit(context, { workspaceId: id, action, targetType: 'workspace', targetId: id, details });
}

function audit({ transaction, actor, eventId }: ChangeContext, entry: Omit<AuditEntry, 'actor'>): Promise<void> {
  return recordAudit(transaction, { ...entry, actor, details: { ...entry.details, event_id: eventId } });
}
