import type { Knex } from 'knex';

/** Received bodies that the worker could not store. Each waits until an operator replays it. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table quarantined_bodies (
      job_id text primary key,
      project_id text not null,
      reason text not null,
      attempts integer not null,
      job jsonb not null,
      body bytea not null,
      quarantined_at timestamptz not null default now(),
      replayed_at timestamptz
    );
    create index quarantined_bodies_by_time on quarantined_bodies (quarantined_at desc, job_id desc);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table quarantined_bodies;');
}
