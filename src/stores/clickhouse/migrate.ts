import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { StoreLayout } from '../layout.ts';
import type { ClickHouse } from './client.ts';

const directory = fileURLToPath(new URL('../../../migrations/clickhouse/', import.meta.url));

/**
 * Applies the numbered SQL files that are not recorded yet and returns their names. A statement
 * ends with `;` at a line end and uses IF NOT EXISTS, so an interrupted file can run again. The
 * caller holds the migration lock.
 */
export async function migrateClickHouse(clickhouse: ClickHouse): Promise<string[]> {
  const { ran, known } = await readClickHouseLayout(clickhouse);
  const missing = known.filter((file) => !ran.includes(file));
  for (const file of missing) await apply(clickhouse, file);
  return missing;
}

/** Returns which migrations ClickHouse has run. Creates their table if it is missing. */
export async function readClickHouseLayout(clickhouse: ClickHouse): Promise<StoreLayout & { known: string[] }> {
  await clickhouse.command({
    query: `CREATE TABLE IF NOT EXISTS schema_migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
            ENGINE = MergeTree ORDER BY name`,
  });
  const result = await clickhouse.query({
    query: 'SELECT DISTINCT name FROM schema_migrations ORDER BY name',
    format: 'JSONEachRow',
  });
  const ran = (await result.json<{ name: string }>()).map((row) => row.name);
  const known = (await readdir(directory)).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).sort();
  return { store: 'ClickHouse', ran, known };
}

async function apply(clickhouse: ClickHouse, file: string): Promise<void> {
  const statements = (await readFile(directory + file, 'utf8')).split(/;\s*$/m).filter((text) => text.trim() !== '');
  // Rewriting a table can take long.
  for (const query of statements) await clickhouse.command({ query, clickhouse_settings: { max_execution_time: 0 } });
  await clickhouse.insert({
    table: 'schema_migrations',
    values: [{ name: file }],
    format: 'JSONEachRow',
    columns: ['name'],
  });
}
