import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { InvalidError } from '../../lib/errors.ts';
import { formatUsd } from '../../lib/money.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { type Budget, type BudgetInput, budgetTag } from './budget.ts';
import { deleteBudgetRow, findWebhookIds, lockBudget, saveBudget } from './budget-store.ts';

export interface PutBudgetDeps {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
}

export interface BudgetChange {
  project: Pick<ProjectScope, 'projectId' | 'workspaceId'>;
  actor: AuditActor;
  ifMatch: IfMatch | undefined;
  /** Undefined deletes the budget. */
  input: BudgetInput | undefined;
}

/**
 * Replaces the budget of a project with a new version, or deletes it, and records this in the audit log.
 * It is in force everywhere within a second. Returns the new version.
 * @throws PreconditionFailedError, UnavailableError
 * @throws InvalidError for a webhook that the project does not have
 */
export async function putBudget(
  deps: PutBudgetDeps,
  { project, actor, ifMatch, input }: BudgetChange,
): Promise<Budget | undefined> {
  const { projectId, workspaceId } = project;
  const stored = await inTransaction(deps.postgres, async (transaction) => {
    const before = await lockBudget(transaction, projectId);
    requireMatch(ifMatch, before && budgetTag(before));
    if (input === undefined && before === undefined) return undefined;
    let after: Budget | undefined;
    if (input === undefined) await deleteBudgetRow(transaction, projectId);
    else {
      await requireWebhooks(transaction, projectId, input.webhookIds ?? []);
      after = await saveBudget(transaction, project, { ...input, version: (before?.version ?? 0) + 1 });
    }
    await recordAudit(transaction, {
      ...{ workspaceId, projectId, actor, targetType: 'project', targetId: projectId },
      action: after === undefined ? 'budget.deleted' : 'budget.replaced',
      details: { before: before ? auditable(before) : null, after: after ? auditable(after) : null },
    });
    return after;
  });
  await deps.invalidations.publish('budget', [projectId]);
  return stored;
}

async function requireWebhooks(transaction: Postgres, projectId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const known = await findWebhookIds(transaction, projectId, ids);
  const errors = ids.flatMap((id, index) =>
    known.has(id)
      ? []
      : [
          {
            path: `notify.webhook_ids[${index}]`,
            code: 'unknown_webhook',
            message: `The project has no webhook ${JSON.stringify(id)}`,
          },
        ],
  );
  const [first] = errors;
  if (first !== undefined) throw new InvalidError('invalid_body', `${first.path}: ${first.message}`, { errors });
}

function auditable({ version, amountNanoUsd, scopes, ...budget }: Budget): Record<string, unknown> {
  const { period, timezone, thresholds, enforcement, enabled } = budget;
  return {
    version,
    amount: formatUsd(amountNanoUsd),
    period,
    timezone,
    thresholds,
    enforcement,
    enabled,
    scopes: scopes.length,
  };
}
