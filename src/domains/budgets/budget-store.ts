import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Budget, BudgetInput, BudgetScope } from './budget.ts';

interface Row {
  project_id: string;
  workspace_id: string;
  version: number;
  amount_nano_usd: string;
  period: Budget['period'];
  timezone: string;
  thresholds: number[];
  enforcement: Budget['enforcement'];
  scopes: (Pick<BudgetScope, 'by' | 'value'> & { amountNanoUsd: string })[];
  webhook_ids: string[] | null;
  enabled: boolean;
  updated_at: Date;
  checked_version: number | null;
  checked_at: Date | null;
}

/** Returns the budget of a project. */
export async function findBudget(postgres: Postgres, projectId: string): Promise<Budget | undefined> {
  const row = await postgres('budgets').where('project_id', projectId).first<Row | undefined>();
  return row && toBudget(row);
}

/** Returns the budget of a project, and keeps others from changing it until the transaction ends. */
export async function lockBudget(transaction: Postgres, projectId: string): Promise<Budget | undefined> {
  // The row of the project is locked, because a budget may not exist yet.
  await transaction('projects').where({ id: projectId }).forNoKeyUpdate().first('id');
  return findBudget(transaction, projectId);
}

/** Stores a new version of a budget. */
export async function saveBudget(
  transaction: Postgres,
  project: { projectId: string; workspaceId: string },
  { version, ...input }: BudgetInput & { version: number },
): Promise<Budget> {
  const [row]: Row[] = await transaction('budgets')
    .insert({
      project_id: project.projectId,
      workspace_id: project.workspaceId,
      version,
      amount_nano_usd: String(input.amountNanoUsd),
      period: input.period,
      timezone: input.timezone,
      thresholds: [...input.thresholds],
      enforcement: input.enforcement,
      scopes: JSON.stringify(input.scopes.map((each) => ({ ...each, amountNanoUsd: String(each.amountNanoUsd) }))),
      webhook_ids: input.webhookIds === null ? null : [...input.webhookIds],
      enabled: input.enabled,
      updated_at: new Date(),
    })
    .onConflict('project_id')
    .merge()
    .returning('*');
  if (row === undefined) throw new Error('The stored budget is missing');
  return toBudget(row);
}

/** Deletes a budget and its alerts, because a later budget begins with version 1 again. */
export async function deleteBudgetRow(transaction: Postgres, projectId: string): Promise<void> {
  await transaction('budget_alerts').where('project_id', projectId).delete();
  await transaction('budgets').where('project_id', projectId).delete();
}

/** Returns those of the ids that are webhooks of the project. */
export async function findWebhookIds(
  postgres: Postgres,
  projectId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await postgres('webhooks')
    .where({ project_id: projectId, deleted_at: null })
    .whereIn('id', ids)
    .select<{ id: string }[]>('id');
  return new Set(rows.map(({ id }) => id));
}

export interface Alert {
  threshold: number;
  /** '' for the whole budget. */
  scope: string;
  firedAt: Date;
}

/** Lists the thresholds that a version of a budget has reached in a period. */
export async function listAlerts(
  postgres: Postgres,
  { projectId, version }: Pick<Budget, 'projectId' | 'version'>,
  startMs: number | null,
): Promise<Alert[]> {
  const rows = await postgres('budget_alerts')
    .where({ project_id: projectId, budget_version: version, period_start: new Date(startMs ?? 0) })
    .orderBy(['fired_at', 'scope', 'threshold'])
    .select<{ threshold: number; scope: string; fired_at: Date }[]>('threshold', 'scope', 'fired_at');
  return rows.map(({ fired_at, ...alert }) => ({ ...alert, firedAt: fired_at }));
}

/** A threshold of a scope, or of the whole budget, whose scope is ''. */
export type Reached = Pick<Alert, 'scope' | 'threshold'>;

/** Stores thresholds that were reached in a period, with one statement. Returns those that were not stored before. */
export async function insertAlerts(
  transaction: Postgres,
  { projectId, version }: Pick<Budget, 'projectId' | 'version'>,
  startMs: number | null,
  reached: readonly Reached[],
): Promise<Reached[]> {
  const { rows } = await transaction.raw<{ rows: Reached[] }>(
    `insert into budget_alerts (project_id, budget_version, period_start, scope, threshold)
     select ?, ?, ?, scope, threshold from unnest(?::text[], ?::double precision[]) as given (scope, threshold)
     on conflict do nothing returning scope, threshold`,
    [
      ...[projectId, version, new Date(startMs ?? 0)],
      ...[reached.map(({ scope }) => scope), reached.map(({ threshold }) => threshold)],
    ],
  );
  return rows;
}

/** Deletes the alerts of older versions of a budget, and of periods that began before a time. */
export async function deleteOldAlerts(
  transaction: Postgres,
  { projectId, version }: Pick<Budget, 'projectId' | 'version'>,
  fromMs: number | null,
): Promise<void> {
  await transaction('budget_alerts')
    .where('project_id', projectId)
    .where((old) => old.where('budget_version', '<', version).orWhere('period_start', '<', new Date(fromMs ?? 0)))
    .delete();
}

/** Returns the nano-USD that runs have reserved. */
export async function sumReserved(postgres: Postgres, projectId: string): Promise<bigint> {
  const row = await postgres('budget_reservations')
    .where('project_id', projectId)
    .where('expires_at', '>', postgres.fn.now())
    .first<{ reserved: string | null } | undefined>(postgres.raw('sum(amount_nano_usd)::text as reserved'));
  return BigInt(row?.reserved ?? 0);
}

/** Stores a reservation and returns its id. Removes those of the project that have expired. */
export async function insertReservation(
  transaction: Postgres,
  { projectId, amountNanoUsd, expiresAt }: { projectId: string; amountNanoUsd: bigint; expiresAt: Date },
): Promise<string> {
  await transaction('budget_reservations')
    .where('project_id', projectId)
    .where('expires_at', '<=', transaction.fn.now())
    .delete();
  const id = newId('evt');
  await transaction('budget_reservations').insert({
    ...{ id, project_id: projectId, amount_nano_usd: String(amountNanoUsd), expires_at: expiresAt },
  });
  return id;
}

/** Lets a reservation last until it is deleted. Returns false if it has ended. */
export async function extendReservation(
  transaction: Postgres,
  { projectId, id }: { projectId: string; id: string },
): Promise<boolean> {
  const extended = await transaction('budget_reservations')
    .where({ project_id: projectId, id })
    .where('expires_at', '>', transaction.fn.now())
    .update({ expires_at: transaction.raw(`'infinity'`) });
  return extended > 0;
}

/** Deletes a reservation. */
export async function deleteReservation(postgres: Postgres, projectId: string, id: string): Promise<void> {
  await postgres('budget_reservations').where({ project_id: projectId, id }).delete();
}

/** What decides whether a budget is due, and names its content: a version number begins anew after a deletion. */
export interface BudgetToCheck extends Pick<Budget, 'projectId' | 'workspaceId' | 'version' | 'updatedAt'> {
  checkedVersion: number | null;
  checkedAtMs: number;
}

/**
 * Lists enabled budgets of all projects in pages, each once: in the order of the projects, from one at random, and from
 * the first after the last. Only the worker calls it.
 */
export async function* enabledBudgets(postgres: Postgres, pageSize: number): AsyncGenerator<BudgetToCheck[]> {
  const enabled = () => postgres('budgets').where('enabled', true);
  const begin = await enabled().orderByRaw('random()').first<{ project_id: string } | undefined>('project_id');
  if (begin === undefined) return;
  for (const to of [undefined, begin.project_id]) {
    for (let after: string | undefined = to === undefined ? begin.project_id : ''; after !== undefined; ) {
      const select = enabled().where('project_id', '>', after).orderBy('project_id').limit(pageSize);
      if (to !== undefined) select.where('project_id', '<=', to);
      const rows = await select.select<Pick<Row, (typeof checkColumns)[number]>[]>(checkColumns);
      if (rows.length > 0) yield rows.map(toBudgetToCheck);
      after = rows.length < pageSize ? undefined : rows.at(-1)?.project_id;
    }
  }
}

const checkColumns = [
  ...(['project_id', 'workspace_id', 'version', 'updated_at', 'checked_version', 'checked_at'] as const),
];

function toBudgetToCheck(row: Pick<Row, (typeof checkColumns)[number]>): BudgetToCheck {
  const { project_id: projectId, workspace_id: workspaceId, version, updated_at: updatedAt } = row;
  const checkedAtMs = row.checked_at?.getTime() ?? 0;
  return { projectId, workspaceId, version, updatedAt, checkedVersion: row.checked_version, checkedAtMs };
}

/** Stores that versions of budgets were checked. One that was replaced meanwhile stays unchecked. */
export async function noteChecked(postgres: Postgres, checked: readonly BudgetToCheck[], at: Date): Promise<void> {
  if (checked.length === 0) return;
  await postgres.raw(
    `update budgets set checked_at = ?, checked_version = given.version
     from unnest(?::text[], ?::integer[], ?::timestamptz[]) as given (project_id, version, updated_at)
     where budgets.project_id = given.project_id and budgets.version = given.version
       and budgets.updated_at = given.updated_at`,
    [
      at,
      ...[checked.map(({ projectId }) => projectId), checked.map(({ version }) => version)],
      checked.map(({ updatedAt }) => updatedAt.toISOString()),
    ],
  );
}

function toBudget(row: Row): Budget {
  return {
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    version: row.version,
    amountNanoUsd: BigInt(row.amount_nano_usd),
    period: row.period,
    timezone: row.timezone,
    thresholds: row.thresholds,
    enforcement: row.enforcement,
    scopes: row.scopes.map(({ by, value, amountNanoUsd }) => ({ by, value, amountNanoUsd: BigInt(amountNanoUsd) })),
    webhookIds: row.webhook_ids,
    enabled: row.enabled,
    updatedAt: row.updated_at,
  };
}
