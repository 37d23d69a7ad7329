import type { Knex } from 'knex';

/**
 * What happened, written in the transaction that made it happen. A worker reads events in the order
 * of `seq` and creates their deliveries to webhooks.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table events (
      id text primary key,
      seq bigint generated always as identity,
      workspace_id text not null references workspaces (id) on delete cascade,
      -- null for an event that concerns every project of the workspace
      project_id text references projects (id) on delete cascade,
      type text not null,
      -- json keeps the order of properties
      data json not null,
      created_at timestamptz not null default clock_timestamp(),
      -- when its deliveries were created
      fanned_out_at timestamptz
    );
    create index events_to_fan_out on events (workspace_id, seq) where fanned_out_at is null;
    create index events_by_time on events (created_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table events;');
}
