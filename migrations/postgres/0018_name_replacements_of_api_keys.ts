import type { Knex } from 'knex';

/** A key that was rotated names the key that replaced it, so that it is not rotated again. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table api_keys add column replaced_by text;');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table api_keys drop column replaced_by;');
}
