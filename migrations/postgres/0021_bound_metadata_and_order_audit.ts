import type { Knex } from 'knex';

/**
 * The metadata of feedback becomes `json`: `jsonb` writes 9e307 as 308 digits, so that a body of 16 KB was read back as
 * 0.8 MB, and a page of them as 84 MB.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table feedback alter column metadata type json using metadata::json;');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table feedback alter column metadata type jsonb using metadata::jsonb;');
}
