import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ClickHouse } from './client.ts';

const directory = fileURLToPath(new URL('../../../migrations/clickhouse/', import.meta.url));

/**
 * Applies the numbered SQL files that are not recorded yet; returns their names. Statements end with `;` at a line's end and
 * say IF NOT EXISTS, so a file that was cut short runs again safely. The caller holds the migration lock.
 */
export async function migrateClickHouse(clickhouse: ClickHouse): Promise<string[]> {
  await clickhouse.command({
    query: `CREATE TABLE IF NOT EXISTS schema_migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
            ENGINE = MergeTree ORDER BY name`,
  });
  const result = await clickhouse.query({
    query: 'SELECT DISTINCT name FROM schema_migrations',
    format: 'JSONEachRow',
  });
  const done = new Set((await result.json<{ name: string }>()).map((row) => row.name));
  const missing = (await readdir(directory)).filter((file) => /^\d{4}_\w+\.sql$/.test(file) && !done.has(file)).sort();
  for (const file of missing) await apply(clickhouse, file);
  return missing;
}

async function apply(clickhouse: ClickHouse, file: string): Promise<void> {
  const statements = (await readFile(directory + file, 'utf8')).split(/;\s*$/m).filter((text) => text.trim() !== '');
  // A table that is rewritten takes its time.
  for (const query of statements) await clickhouse.command({ query, clickhouse_settings: { max_execution_time: 0 } });
  await clickhouse.insert({
    table: 'schema_migrations',
    values: [{ name: file }],
    format: 'JSONEachRow',
    columns: ['name'],
  });
}
