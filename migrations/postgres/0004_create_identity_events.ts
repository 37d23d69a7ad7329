import type { Knex } from 'knex';

/**
 * Events of identity providers that were applied. The transaction of an event's effect writes its
 * row. Maintenance deletes rows after 30 days.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table identity_events (
      provider text not null,
      event_id text not null check (length(event_id) between 1 and 255),
      type text not null,
      occurred_at timestamptz not null,
      outcome text not null,
      received_at timestamptz not null default now(),
      primary key (provider, event_id)
    );
    create index identity_events_by_receipt on identity_events (received_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table identity_events;');
}
