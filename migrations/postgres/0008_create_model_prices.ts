import type { Knex } from 'knex';

/** A project's own prices, read and replaced as one list. Spans store the costs made with them. */
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
