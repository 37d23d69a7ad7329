import type { Knex } from 'knex';

/**
 * The operator lists the entries of the audit log that belong to no workspace. The index by workspace has no order of
 * them that Postgres would use.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('create index audit_log_of_service on audit_log (at desc, id desc) where workspace_id is null;');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index audit_log_of_service;');
}
