import type { Knex } from 'knex';

/**
 * Pending deliveries are counted for each workspace with new events, and looked for before old events are deleted. An
 * export lists items by the bytes of their slugs. Without these indexes, each of them reads what others have as well.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create index webhook_deliveries_pending_by_workspace on webhook_deliveries (workspace_id) where status = 'pending';
    create index webhook_deliveries_pending_by_event on webhook_deliveries (event_id) where status = 'pending';
    create index prompts_by_slug_bytes on prompts (project_id, slug collate "C") where deleted_at is null;
    create index parts_by_slug_bytes on parts (project_id, slug collate "C") where deleted_at is null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop index parts_by_slug_bytes;
    drop index prompts_by_slug_bytes;
    drop index webhook_deliveries_pending_by_event;
    drop index webhook_deliveries_pending_by_workspace;
  `);
}
