import type { Postgres } from '../../stores/postgres/client.ts';
import { deleteInSlices } from '../../stores/postgres/delete-in-slices.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';

/** Deliveries that one statement ends, and for how long a look repeats it. */
const expiring = { rows: 1_000, msMax: 2_000 };
const keptMs = 30 * 24 * 60 * 60 * 1_000;
/** Events or deliveries that one statement deletes. An event may have many deliveries. */
const prunedAtOnce = 500;

/** A delivery whose attempt this worker makes, with what the attempt needs. */
export interface ClaimedDelivery {
  id: string;
  /** Identifies this attempt: another worker may claim the delivery after the lease has ended. */
  lease: string;
  /** Number of this attempt, from 1. */
  attempts: number;
  workspace_id: string;
  project_id: string;
  webhook_id: string;
  url: string;
  secret: Buffer;
  /** Null when the time of the previous secret is over. */
  previous_secret: Buffer | null;
  slow: boolean;
  event_id: string;
  type: string;
  data: unknown;
  occurred_at: Date;
}

/** Deliveries in progress: `quick`, `slow` and `total` for this worker, the others over all workers. */
export interface Places {
  quick: number;
  slow: number;
  total: number;
  perEndpoint: number;
  perWorkspace: number;
  /** Of the places of a workspace, those to endpoints that were slow or take long. */
  slowPerWorkspace: number;
  /** An endpoint with so many consecutive failures has one delivery in progress. */
  failuresOfProbe: number;
}

/**
 * Claims due deliveries. Endpoints have turns: workspaces with few deliveries in progress and
 * endpoints that waited longest come first, and each endpoint's oldest delivery. Returns undefined if
 * another worker claims at the moment.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function claimDeliveries(
  postgres: Postgres,
  places: Places,
  attempt: { lease: string; leaseMs: number; slowMs: number },
): Promise<ClaimedDelivery[] | undefined> {
  return inTransaction(postgres, async (transaction) => {
    const { rows } = await transaction.raw<{ rows: { ours: boolean }[] }>(
      `select pg_try_advisory_xact_lock(hashtextextended('webhook deliveries', 0)) as ours`,
    );
    if (rows[0]?.ours !== true) return undefined;
    const claimed = await transaction.raw<{ rows: ClaimedDelivery[] }>(dueDeliveries, { ...places, ...attempt });
    return claimed.rows;
  });
}

/** Deliveries that one statement makes due. The others keep their times. */
const madeDueMax = 5_000;

/** Makes the next pending deliveries of a webhook due now, whatever they wait for. */
export async function makeDue(
  transaction: Postgres,
  { id, projectId }: { id: string; projectId: string },
): Promise<void> {
  const now = transaction.fn.now();
  const waiting = transaction('webhook_deliveries')
    .where({ project_id: projectId, webhook_id: id, status: 'pending' })
    .where('next_attempt_at', '>', now)
    .where((free) => free.whereNull('lease').orWhere('leased_until', '<=', now))
    .orderBy('next_attempt_at')
    .limit(madeDueMax)
    .forUpdate()
    .skipLocked()
    .select('id');
  await transaction('webhook_deliveries')
    .where({ project_id: projectId })
    .whereIn('id', waiting)
    .update({ next_attempt_at: now });
}

const inProgress = 'lease is not null and leased_until > now()';

/** The recursion reads each endpoint with pending deliveries once, whatever their number. */
const dueDeliveries = `
  with recursive endpoint (id) as (
    (select webhook_id from webhook_deliveries where status = 'pending' order by webhook_id limit 1)
    union all
    select (select webhook_id from webhook_deliveries where status = 'pending' and webhook_id > endpoint.id order by webhook_id limit 1)
    from endpoint where endpoint.id is not null
  ), ready as (
    select webhooks.id, webhooks.workspace_id, slow, last_attempt_at,
      case when consecutive_failures >= :failuresOfProbe then 1 else :perEndpoint end - (
        select count(*) from webhook_deliveries as held
        where held.workspace_id = webhooks.workspace_id and held.webhook_id = webhooks.id and ${inProgress}) as places
    from endpoint join webhooks on webhooks.id = endpoint.id
      join workspaces on workspaces.id = webhooks.workspace_id and workspaces.deleted_at is null
    where enabled and (retry_at is null or retry_at <= now())
  ), due as (
    select ready.*, delivery.id as delivery_id, row_number() over (partition by ready.id order by next_attempt_at) as turn
    from ready cross join lateral (
      select id, next_attempt_at from webhook_deliveries
      where webhook_id = ready.id and status = 'pending' and next_attempt_at <= now() and expires_at > now()
        and (lease is null or leased_until <= now())
      order by next_attempt_at limit greatest(ready.places, 0)) as delivery
  ), divided as (
    select due.*, row_number() over (partition by workspace_id, slow order by turn, last_attempt_at nulls first, id) + (
        select count(*) from webhook_deliveries as held join webhooks on webhooks.id = held.webhook_id
        where held.workspace_id = due.workspace_id and ${inProgress}
          and (webhooks.slow or leased_until - :leaseMs * interval '1 millisecond' < now() - :slowMs * interval '1 millisecond')) as slow_place
    from due
  ), shared as (
    select divided.*, row_number() over (partition by workspace_id order by turn, last_attempt_at nulls first, id) + (
        select count(*) from webhook_deliveries as held where held.workspace_id = divided.workspace_id and ${inProgress}) as place
    from divided where not slow or slow_place <= :slowPerWorkspace
  ), laned as (
    select *, row_number() over (partition by slow order by place, last_attempt_at nulls first) as lane_place
    from shared where place <= :perWorkspace
  ), chosen as (
    select delivery_id from laned where lane_place <= case when slow then cast(:slow as integer) else cast(:quick as integer) end
    order by place, last_attempt_at nulls first limit :total
  ), claimed as (
    update webhook_deliveries set lease = :lease, attempts = attempts + 1,
      leased_until = now() + :leaseMs * interval '1 millisecond'
    from chosen where webhook_deliveries.id = chosen.delivery_id
    returning webhook_deliveries.*
  )
  select claimed.id, lease, attempts, claimed.workspace_id, claimed.project_id, webhook_id, url, secret, slow, event_id,
    case when previous_secret_until > now() then previous_secret end as previous_secret,
    events.type, events.data, events.created_at as occurred_at
  from claimed join webhooks on webhooks.id = webhook_id join events on events.id = event_id`;

/** Ends the deliveries whose time is over, as many as two seconds allow: claims have to look past those that are left. */
export async function expireDeliveries(postgres: Postgres): Promise<void> {
  const endMs = performance.now() + expiring.msMax;
  while ((await expireSome(postgres)) === expiring.rows && performance.now() < endMs);
}

async function expireSome(postgres: Postgres): Promise<number> {
  return postgres('webhook_deliveries')
    .whereIn(
      'id',
      postgres('webhook_deliveries')
        .where({ status: 'pending' })
        .where('expires_at', '<=', postgres.fn.now())
        .where((free) => free.whereNull('lease').orWhere('leased_until', '<=', postgres.fn.now()))
        .orderBy('expires_at')
        .limit(expiring.rows)
        .forUpdate()
        .skipLocked()
        .select('id'),
    )
    .update({ status: 'failed', lease: null, leased_until: null, finished_at: postgres.fn.now() });
}

/**
 * Deletes events older than 30 days, with their deliveries and attempts.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function pruneEvents(
  { postgres }: { postgres: Postgres },
  { nowMs = Date.now() }: { nowMs?: number } = {},
): Promise<void> {
  const old = postgres('events')
    .where('created_at', '<', new Date(nowMs - keptMs))
    // A redelivery that waits was promised for a day.
    .whereNotExists((pending) =>
      pending
        .from('webhook_deliveries')
        .whereRaw('webhook_deliveries.event_id = events.id')
        .where('status', 'pending')
        .select(postgres.raw('1')),
    )
    .orderBy('created_at')
    .limit(prunedAtOnce);
  await deleteInSlices(prunedAtOnce, async () => {
    const ids = (await old.clone().select<{ id: string }[]>('id')).map(({ id }) => id);
    // One event can have a million deliveries: each redelivery is one.
    const some = postgres('webhook_deliveries').whereIn('event_id', ids).limit(prunedAtOnce).select('id');
    const isDone = await deleteInSlices(prunedAtOnce, () =>
      postgres('webhook_deliveries').whereIn('id', some.clone()).delete(),
    );
    return isDone ? postgres('events').whereIn('id', ids).delete() : 0;
  });
}

/**
 * Deletes webhooks that are marked as deleted, with their deliveries and attempts.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function pruneWebhooks({ postgres }: { postgres: Postgres }): Promise<void> {
  const marked = await postgres('webhooks')
    .whereNotNull('deleted_at')
    .limit(prunedAtOnce)
    .select<{ id: string; project_id: string }[]>('id', 'project_id');
  for (const { id, project_id } of marked) {
    const deliveries = postgres('webhook_deliveries').where({ project_id, webhook_id: id });
    const some = deliveries.clone().limit(prunedAtOnce).select('id');
    // One statement for all webhooks would read the deliveries of others as well.
    const isDone = await deleteInSlices(prunedAtOnce, () => deliveries.clone().whereIn('id', some.clone()).delete());
    if (!isDone) return;
    await postgres('webhooks').where({ id, project_id }).delete();
  }
}
