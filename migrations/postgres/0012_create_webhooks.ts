import type { Knex } from 'knex';

/** Receivers of events, their deliveries, and every attempt to send one. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table webhooks (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      url text not null,
      description text,
      events text[] not null,
      enabled boolean not null default true,
      -- why the service disabled it; null if it did not
      disabled_reason text check (disabled_reason in ('gone', 'failing')),
      -- sealed with a key that is not in the database (src/lib/webhook-secret.ts)
      secret bytea not null,
      -- signs as well, until the time
      previous_secret bytea,
      previous_secret_until timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      -- what the last attempts showed; no attempt begins before retry_at
      consecutive_failures integer not null default 0,
      failing_since timestamptz,
      retry_at timestamptz,
      last_attempt_at timestamptz,
      slow boolean not null default false
    );
    create index webhooks_by_project on webhooks (project_id, id desc);
    create index webhooks_by_workspace on webhooks (workspace_id) where enabled;

    create table webhook_deliveries (
      id text primary key,
      workspace_id text not null,
      project_id text not null,
      webhook_id text not null references webhooks (id) on delete cascade,
      event_id text not null references events (id) on delete cascade,
      -- the delivery that a caller wanted again
      redelivery_of text,
      status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
      attempts integer not null default 0,
      created_at timestamptz not null default clock_timestamp(),
      next_attempt_at timestamptz not null,
      -- a pending delivery fails then
      expires_at timestamptz not null,
      finished_at timestamptz,
      -- the attempt in progress; a worker that ended leaves it to run out
      lease text,
      leased_until timestamptz
    );
    create unique index webhook_deliveries_of_event on webhook_deliveries (event_id, webhook_id) where redelivery_of is null;
    create index webhook_deliveries_by_event on webhook_deliveries (event_id);
    create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id desc);
    create index webhook_deliveries_by_status on webhook_deliveries (webhook_id, status, id desc);
    create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';
    create index webhook_deliveries_expiring on webhook_deliveries (expires_at) where status = 'pending';
    create index webhook_deliveries_leased on webhook_deliveries (workspace_id, webhook_id) where lease is not null;

    create table webhook_attempts (
      delivery_id text not null references webhook_deliveries (id) on delete cascade,
      -- has gaps where a worker ended before it knew the outcome
      number integer not null,
      project_id text not null,
      url text not null,
      started_at timestamptz not null,
      duration_ms integer not null,
      response_status integer,
      -- the beginning of the body
      response_body text,
      error text,
      primary key (delivery_id, number)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table webhook_attempts, webhook_deliveries, webhooks;');
}
