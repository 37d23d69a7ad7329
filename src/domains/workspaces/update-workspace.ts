import { ForbiddenError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { recordAudit } from '../audit/index.ts';
import type { Caller } from './caller.ts';
import { unknownWorkspace } from './errors.ts';
import type { PlanOverrides } from './plan-overrides.ts';
import { isAbove, type PlanName } from './plans.ts';
import type { Workspace } from './workspace.ts';
import { lockWorkspace, saveWorkspace } from './workspace-store.ts';

export interface WorkspaceChange {
  name?: string | undefined;
  plan?: PlanName | undefined;
  /** Replaces all overrides. */
  overrides?: PlanOverrides | undefined;
}

/**
 * Changes a workspace. A new plan takes effect everywhere within a second.
 * @throws NotFoundError for an unknown workspace
 * @throws ForbiddenError `admin_required` when a caller other than the operator raises the plan or
 * changes overrides
 */
export async function updateWorkspace(
  deps: { postgres: Postgres; invalidations: Pick<Invalidations, 'publish'> },
  input: { workspaceId: string; change: WorkspaceChange; caller: Caller },
): Promise<Workspace> {
  const { change, caller } = input;
  const workspace = await inTransaction(deps.postgres, async (transaction) => {
    const before = await lockWorkspace(transaction, input.workspaceId);
    if (before === undefined) throw unknownWorkspace();
    requireOperator(caller, before, change);
    const after: Workspace = {
      ...before,
      name: change.name ?? before.name,
      plan: change.plan ?? before.plan,
      overrides: change.overrides ?? before.overrides,
    };
    await saveWorkspace(transaction, after);
    await recordAudit(transaction, {
      workspaceId: before.id,
      actor: caller.actor,
      action: 'workspace.updated',
      targetType: 'workspace',
      targetId: before.id,
      details: { before: changeable(before), after: changeable(after) },
    });
    return after;
  });
  await deps.invalidations.publish('workspace', [workspace.id]);
  return workspace;
}

/**
 * Checks that only the operator raises plans and changes overrides. A plan has no billing, so the
 * operator pays for it.
 * @throws ForbiddenError `admin_required` for any other caller
 */
function requireOperator({ authority }: Caller, before: Workspace, { plan, overrides }: WorkspaceChange): void {
  if (authority === 'operator') return;
  if (overrides !== undefined)
    throw new ForbiddenError('admin_required', 'Only the operator may change plan_overrides.');
  if (plan === undefined || !isAbove(plan, before.plan)) return;
  throw new ForbiddenError(
    'admin_required',
    `Only the operator may raise a plan. An owner may change from ${before.plan} to a lower plan, not to ${plan}.`,
  );
}

function changeable({ name, plan, overrides }: Workspace): object {
  return { name, plan, plan_overrides: overrides };
}
