import type { Knex } from 'knex';

/** Who imported a version and when: what an import says of author, kind and time is a claim of the lines it came with. */
export async function up(knex: Knex): Promise<void> {
  for (const table of tables) {
    await knex.raw(`
      alter table ${table}
        add column imported_at timestamptz,
        add column imported_by_type text,
        add column imported_by_id text,
        add constraint ${table}_imported_by check ((imported_at is null) = (imported_by_type is null))`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const table of tables) {
    await knex.raw(
      `alter table ${table} drop column imported_at, drop column imported_by_type, drop column imported_by_id`,
    );
  }
}

const tables = ['prompt_versions', 'part_versions'];
