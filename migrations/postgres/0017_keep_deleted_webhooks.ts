import type { Knex } from 'knex';

/** A deleted webhook with very many deliveries stays until a worker has deleted them, a part at a time. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table webhooks add column deleted_at timestamptz;
    create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('delete from webhooks where deleted_at is not null; alter table webhooks drop column deleted_at;');
}
