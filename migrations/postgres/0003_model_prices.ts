import type { Knex } from 'knex';

/** A project's own prices, always read and replaced as one list. What was calculated with them is stored with the spans. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table model_prices (
      project_id text primary key references projects (id) on delete cascade,
      prices jsonb not null,
      updated_at timestamptz not null
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table model_prices;');
}
