import type { Knex } from 'knex';

/**
 * The metadata of feedback becomes `json`: `jsonb` writes 9e307 as 308 digits, so that a body of 16 KB was read back as
 * 0.8 MB, and a page of them as 84 MB. Entries of the audit log get the time at which they are written: with the time at
 * which their transaction began, one could come before entries that a reader has already seen.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table feedback alter column metadata type json using metadata::json;
    alter table audit_log alter column at set default clock_timestamp();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table audit_log alter column at set default now();
    alter table feedback alter column metadata type jsonb using metadata::jsonb;
  `);
}
