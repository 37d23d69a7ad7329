import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { StoreLayout } from '../layout.ts';
import type { ClickHouse } from './client.ts';

const directory = fileURLToPath(new URL('../../../migrations/clickhouse/', import.meta.url));

/** A file of statements. */
interface Migration {
  /** The file and a hash of its statements, because a file may change until it is released. */
  name: string;
  statements: readonly string[];
}

/**
 * Applies the numbered SQL files that are not recorded yet and returns their names. A statement
 * ends with `;` at a line end and uses IF NOT EXISTS, so an interrupted file can run again. The
 * caller holds the migration lock.
 */
export async function migrateClickHouse(clickhouse: ClickHouse): Promise<string[]> {
  const ran = await readNames(clickhouse);
  const missing = (await readMigrations()).filter(({ name }) => !ran.includes(name));
  for (const migration of missing) await apply(clickhouse, migration);
  return missing.map(({ name }) => name);
}

/** Returns which migrations ClickHouse has run. Creates their table if it is missing. */
export async function readClickHouseLayout(clickhouse: ClickHouse): Promise<StoreLayout> {
  const known = (await readMigrations()).map(({ name }) => name);
  return { store: 'ClickHouse', ran: await readNames(clickhouse), known };
}

async function readNames(clickhouse: ClickHouse): Promise<string[]> {
  await clickhouse.command({
    query: `CREATE TABLE IF NOT EXISTS schema_migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
            ENGINE = MergeTree ORDER BY name`,
  });
  const result = await clickhouse.query({
    query: 'SELECT DISTINCT name FROM schema_migrations ORDER BY name',
    format: 'JSONEachRow',
  });
  return (await result.json<{ name: string }>()).map((row) => row.name);
}

async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file) => {
      const sql = (await readFile(directory + file, 'utf8')).replaceAll(/^\s*--.*$/gm, '');
      const hash = createHash('sha256').update(sql.replaceAll(/\s+/g, ' ')).digest('hex').slice(0, 8);
      return { name: `${file} ${hash}`, statements: sql.split(/;\s*$/m).filter((text) => text.trim() !== '') };
    }),
  );
}

async function apply(clickhouse: ClickHouse, { name, statements }: Migration): Promise<void> {
  // Rewriting a table can take long.
  for (const query of statements) await clickhouse.command({ query, clickhouse_settings: { max_execution_time: 0 } });
  await clickhouse.insert({
    table: 'schema_migrations',
    values: [{ name }],
    format: 'JSONEachRow',
    columns: ['name'],
  });
}
