import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';

/**
 * Events of one workspace, and workspaces, whose deliveries one transaction creates. A workspace whose enabled webhooks
 * have `pending` deliveries gets further ones of prompts later: an import can bring a hundred thousand events for twenty
 * webhooks. One that has `pendingMax`, those of disabled webhooks included, gets no others either.
 */
export const fanOutPage = { events: 50, workspaces: 50, pending: 20_000, pendingMax: 40_000 };
/** A delivery whose event waited for long is pending for this time. */
const pendingMsMin = 60 * 60_000;
/** Rows of one INSERT. Compiling it takes a few milliseconds. */
const insertedAtOnce = 250;

/**
 * Creates the deliveries of new events, one for each enabled webhook that wants the event. Takes a
 * page of events from every workspace, so that none waits behind another's. Returns the largest number of
 * events of a workspace.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function fanOutEvents(postgres: Postgres, { windowMs }: { windowMs: number }): Promise<number> {
  return inTransaction(postgres, async (transaction) => {
    const { rows } = await transaction.raw<{ rows: FannedOut[] }>(eventsToFanOut, fanOutPage);
    if (rows.length === 0) return 0;
    const kept = await keepWebhooks(transaction, rows);
    for (let start = 0; start < kept.length; start += insertedAtOnce) {
      const deliveries = kept.slice(start, start + insertedAtOnce).map(deliveryOf(transaction, windowMs));
      if (deliveries.length > 0) await transaction('webhook_deliveries').insert(deliveries);
    }
    const ids = [...new Set(rows.map(({ event_id }) => event_id))];
    await transaction('events')
      .whereIn('id', ids)
      .update({ fanned_out_at: transaction.raw('clock_timestamp()') });
    const counts = new Map<string, number>();
    for (const { workspace_id } of rows) counts.set(workspace_id, (counts.get(workspace_id) ?? 0) + 1);
    return Math.max(...counts.values());
  });
}

type ToDeliver = FannedOut & { webhook_id: string };

/**
 * Returns the events for webhooks that are not deleted meanwhile, and keeps these webhooks until the end of the
 * transaction: a delivery without its webhook would undo the deliveries of all workspaces.
 */
async function keepWebhooks(transaction: Postgres, rows: readonly FannedOut[]): Promise<ToDeliver[]> {
  const wanted = rows.flatMap((row) => (row.webhook_id === null ? [] : [row as ToDeliver]));
  if (wanted.length === 0) return [];
  const ids = [...new Set(wanted.map(({ webhook_id }) => webhook_id))];
  const workspaceIds = [...new Set(wanted.map(({ workspace_id }) => workspace_id))];
  const kept = await transaction.raw<{ rows: { id: string }[] }>(
    'select id from webhooks where workspace_id = any (?) and id = any (?) order by id for key share',
    [workspaceIds, ids],
  );
  const existing = new Set(kept.rows.map(({ id }) => id));
  return wanted.filter(({ webhook_id }) => existing.has(webhook_id));
}

function deliveryOf(transaction: Postgres, windowMs: number) {
  return ({ webhook_id, event_id, workspace_id, project_id, created_at, created_at_us }: ToDeliver) => ({
    ...{ id: newId('dlv'), workspace_id, project_id, webhook_id, event_id },
    next_attempt_at: transaction.raw("timestamptz 'epoch' + ?::bigint * interval '1 microsecond'", [created_at_us]),
    expires_at: new Date(Math.max(created_at.getTime() + windowMs, Date.now() + Math.min(windowMs, pendingMsMin))),
  });
}

interface FannedOut {
  event_id: string;
  workspace_id: string;
  /** The project of the webhook. */
  project_id: string;
  webhook_id: string | null;
  created_at: Date;
  created_at_us: string;
}

/**
 * The recursion reads each workspace with new events once, whatever their number. Pending deliveries of a disabled
 * webhook wait for its owner and do not count. The conditions on types are those of the indexes.
 */
const eventsToFanOut = `
  with recursive waiting (id) as (
    (select workspace_id from events where fanned_out_at is null order by workspace_id limit 1)
    union all
    select (select workspace_id from events where fanned_out_at is null and workspace_id > waiting.id order by workspace_id limit 1)
    from waiting where waiting.id is not null
  ), open as (
    select id, :pending > (select count(*) from (
      select from webhooks join webhook_deliveries on webhook_id = webhooks.id
      where webhooks.workspace_id = waiting.id and enabled and deleted_at is null and status = 'pending'
      limit :pending) as pending) as has_room
    from waiting where id is not null and :pendingMax > (select count(*) from (
      select from webhook_deliveries where workspace_id = waiting.id and status = 'pending' limit :pendingMax) as pending)
  ), chosen as (
    select * from open where has_room or exists (
      select from events where workspace_id = open.id and fanned_out_at is null and type not like 'prompt.%')
    order by random() limit :workspaces
  ), page as (
    select events.* from chosen cross join lateral (
      select * from events where workspace_id = chosen.id and fanned_out_at is null and type not like 'prompt.%'
      order by seq limit :events for update skip locked) as events
    union all
    select events.* from chosen cross join lateral (
      select * from events where workspace_id = chosen.id and fanned_out_at is null and type like 'prompt.%' and has_room
      order by seq limit :events for update skip locked) as events
  )
  select page.id as event_id, page.workspace_id, webhooks.project_id, webhooks.id as webhook_id, page.created_at,
    (extract(epoch from page.created_at) * 1000000)::bigint::text as created_at_us
  from page left join webhooks on webhooks.workspace_id = page.workspace_id and webhooks.enabled
    and (page.project_id is null or webhooks.project_id = page.project_id)
    and (page.webhook_ids is null or webhooks.id = any (page.webhook_ids))
    and webhooks.created_at <= page.created_at
    and case when page.type = 'webhook.test' then webhooks.id = page.data ->> 'webhook_id'
        else page.type = any (webhooks.events) end
  order by page.seq`;
