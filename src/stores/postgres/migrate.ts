import { readdir } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import type { StoreLayout } from '../layout.ts';

const directory = fileURLToPath(new URL('../../../migrations/postgres/', import.meta.url));

/**
 * Migrations by file name without extension, so that sources (.ts) and build output (.js) have the
 * same names.
 */
const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: migrationFiles,
  getMigrationName: migrationName,
  getMigration: (file) => import(pathToFileURL(directory + file).href) as Promise<Knex.Migration>,
};

export const postgresMigrations: Knex.MigratorConfig = { migrationSource };

/** Applies the missing migrations and returns their names. The caller holds the migration lock. */
export async function migratePostgres(postgres: Knex): Promise<string[]> {
  const [, applied] = (await postgres.migrate.latest(postgresMigrations)) as [number, string[]];
  return applied;
}

/** Returns which migrations Postgres has run. */
export async function readPostgresLayout(postgres: Knex): Promise<StoreLayout> {
  const hasRun = await postgres.schema.hasTable('knex_migrations');
  const ran: string[] = hasRun ? await postgres('knex_migrations').orderBy('id').pluck('name') : [];
  return { store: 'Postgres', ran, known: (await migrationFiles()).map(migrationName) };
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(directory)).filter((file) => /^\d{4}_\w+\.(ts|js)$/.test(file)).sort();
}

function migrationName(file: string): string {
  return file.replace(/\.(ts|js)$/, '');
}
