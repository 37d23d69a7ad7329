import type { Knex } from 'knex';

/**
 * A membership keeps the time of the latest report of the provider also after a member has changed the role here. So a
 * removal at the provider is recognized as news, although the change here is later.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table memberships add column provider_updated_at timestamptz;');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table memberships drop column provider_updated_at;');
}
