import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Webhook, WebhookEvent } from './webhook.ts';

interface Row {
  id: string;
  workspace_id: WorkspaceId;
  project_id: ProjectId;
  url: string;
  description: string | null;
  events: WebhookEvent[];
  enabled: boolean;
  disabled_reason: Webhook['disabledReason'];
  previous_secret_until: Date | null;
  consecutive_failures: number;
  failing_since: Date | null;
  last_attempt_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const columns = [
  ...['id', 'workspace_id', 'project_id', 'url', 'description', 'events', 'enabled', 'disabled_reason'],
  ...['previous_secret_until', 'consecutive_failures', 'failing_since', 'last_attempt_at', 'created_at', 'updated_at'],
];

export type NewWebhook = Pick<
  Webhook,
  'id' | 'workspaceId' | 'projectId' | 'url' | 'description' | 'events' | 'enabled'
>;

/**
 * Returns the numbers of webhooks of a project and of its workspace, and keeps them from growing until
 * the transaction ends.
 */
export async function lockWebhookCounts(
  transaction: Postgres,
  { projectId, workspaceId }: Pick<Webhook, 'projectId' | 'workspaceId'>,
): Promise<{ ofProject: number; ofWorkspace: number }> {
  await transaction('workspaces').where({ id: workspaceId }).forNoKeyUpdate().first('id');
  return transaction('webhooks')
    .where({ workspace_id: workspaceId, deleted_at: null })
    .first<{ ofProject: number; ofWorkspace: number }>(
      transaction.raw(
        'cast(count(*) as integer) as "ofWorkspace", cast(count(*) filter (where project_id = ?) as integer) as "ofProject"',
        [projectId],
      ),
    );
}

/** Stores a webhook with its sealed secret. */
export async function insertWebhook(transaction: Postgres, webhook: NewWebhook, secret: Buffer): Promise<Webhook> {
  const [row]: Row[] = await transaction('webhooks')
    .insert({
      id: webhook.id,
      workspace_id: webhook.workspaceId,
      project_id: webhook.projectId,
      url: webhook.url,
      description: webhook.description,
      events: webhook.events,
      enabled: webhook.enabled,
      secret,
    })
    .returning(columns);
  return toWebhook(present(row));
}

/** Lists the webhooks of a project, newest first. */
export async function listWebhooks(
  postgres: Postgres,
  { projectId, beforeId, limit }: { projectId: ProjectId; beforeId: string | undefined; limit: number },
): Promise<Webhook[]> {
  const query = postgres('webhooks')
    .where({ project_id: projectId, deleted_at: null })
    .orderBy('id', 'desc')
    .limit(limit);
  if (beforeId !== undefined) query.where('id', '<', beforeId);
  return (await query.select<Row[]>(columns)).map(toWebhook);
}

/** Finds a webhook of the project. */
export async function findWebhook(postgres: Postgres, projectId: ProjectId, id: string): Promise<Webhook | undefined> {
  const row = await postgres('webhooks')
    .where({ project_id: projectId, id, deleted_at: null })
    .first<Row | undefined>(columns);
  return row && toWebhook(row);
}

/** Finds a webhook of the project and locks it until the transaction ends. */
export async function lockWebhook(
  transaction: Postgres,
  projectId: ProjectId,
  id: string,
): Promise<Webhook | undefined> {
  const row = await transaction('webhooks')
    .where({ project_id: projectId, id, deleted_at: null })
    .forNoKeyUpdate()
    .first<Row | undefined>(columns);
  return row && toWebhook(row);
}

/**
 * Changes a locked webhook. Undefined fields stay. `restarts` forgets what attempts have shown, so that the
 * next one is made at once.
 */
export async function changeWebhook(
  transaction: Postgres,
  { id, projectId }: Webhook,
  changes: { readonly [K in 'url' | 'description' | 'events' | 'enabled']: Webhook[K] | undefined },
  { restarts }: { restarts: boolean },
): Promise<Webhook> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const forgotten = {
    disabled_reason: null,
    consecutive_failures: 0,
    failing_since: null,
    retry_at: null,
    slow: false,
  };
  const [row]: Row[] = await transaction('webhooks')
    .where({ project_id: projectId, id })
    .update({ ...given, ...(restarts ? forgotten : {}), updated_at: transaction.raw('clock_timestamp()') })
    .returning(columns);
  return toWebhook(present(row));
}

/** Replaces the secret of a locked webhook. The old one signs as well, until `until`. */
export async function replaceSecret(
  transaction: Postgres,
  { id, projectId }: Webhook,
  { secret, until }: { secret: Buffer; until: Date | null },
): Promise<void> {
  await transaction('webhooks')
    .where({ project_id: projectId, id })
    .update({
      previous_secret: until === null ? null : transaction.ref('secret'),
      previous_secret_until: until,
      secret,
      updated_at: transaction.raw('clock_timestamp()'),
    });
}

/** Deliveries that are deleted in a request. More take longer than a statement may. */
const deletedAtOnce = 500;

/**
 * Deletes a locked webhook with its deliveries. One that has more than 500 is only marked: nothing finds it, it
 * gets nothing, and `pruneWebhooks` deletes it later.
 */
export async function deleteWebhookRow(transaction: Postgres, { id, projectId }: Webhook): Promise<void> {
  const deliveries = await transaction('webhook_deliveries')
    .where({ project_id: projectId, webhook_id: id })
    .limit(deletedAtOnce + 1)
    .select('id');
  const webhook = transaction('webhooks').where({ project_id: projectId, id });
  if (deliveries.length <= deletedAtOnce) await webhook.delete();
  else await webhook.update({ enabled: false, deleted_at: transaction.raw('clock_timestamp()') });
}

function present(row: Row | undefined): Row {
  if (row === undefined) throw new Error('The locked webhook is missing');
  return row;
}

function toWebhook(row: Row): Webhook {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    url: row.url,
    description: row.description,
    events: row.events,
    enabled: row.enabled,
    disabledReason: row.disabled_reason,
    previousSecretUntil: row.previous_secret_until,
    consecutiveFailures: row.consecutive_failures,
    failingSince: row.failing_since,
    lastAttemptAt: row.last_attempt_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
