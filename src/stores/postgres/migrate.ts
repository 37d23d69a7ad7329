import { readdir } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';

const directory = fileURLToPath(new URL('../../../migrations/postgres/', import.meta.url));

/**
 * Migrations by file name without extension, so that sources (.ts) and build output (.js) have the
 * same names.
 */
const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => (await readdir(directory)).filter((file) => /^\d{4}_\w+\.(ts|js)$/.test(file)).sort(),
  getMigrationName: (file) => file.replace(/\.(ts|js)$/, ''),
  getMigration: (file) => import(pathToFileURL(directory + file).href) as Promise<Knex.Migration>,
};

export const postgresMigrations: Knex.MigratorConfig = { migrationSource };

/** Applies the missing migrations and returns their names. The caller holds the migration lock. */
export async function migratePostgres(postgres: Knex): Promise<string[]> {
  const [, applied] = (await postgres.migrate.latest(postgresMigrations)) as [number, string[]];
  return applied;
}
