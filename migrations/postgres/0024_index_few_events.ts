import type { Knex } from 'knex';

/** Events that do not come in thousands are found beside a hundred thousand events of an import. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create index events_few_to_fan_out on events (workspace_id, seq)
      where fanned_out_at is null and type not like 'prompt.%';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index events_few_to_fan_out;');
}
