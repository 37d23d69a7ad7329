import { pathToFileURL } from 'node:url';
import { readStoreUrls } from '../config.ts';
import { connectClickHouse } from '../stores/clickhouse/client.ts';
import { migrateClickHouse } from '../stores/clickhouse/migrate.ts';
import { allowStatements, connectPostgres, type Postgres } from '../stores/postgres/client.ts';
import { migratePostgres } from '../stores/postgres/migrate.ts';
import { putServiceUser } from '../stores/postgres/service-role.ts';

/**
 * The key of the advisory lock that makes concurrent starts take turns: "plmigrat" as a 64-bit
 * number.
 */
const lockKey = '8100122917497462132';

/**
 * Migrates both stores to the current schema. Safe to call from several processes at once.
 * `databaseUrl` names the owner of the tables. With `serviceUrl`, its user is created and gets
 * access to the tables.
 * @returns the names of the applied migrations
 */
export async function migrate(urls: {
  databaseUrl: string;
  serviceUrl?: string | undefined;
  clickhouseUrl: string;
}): Promise<string[]> {
  const postgres = connectPostgres(urls.databaseUrl, 2);
  const clickhouse = connectClickHouse(urls.clickhouseUrl, 120_000);
  try {
    return await withMigrationLock(postgres, async () => {
      const applied = await migratePostgres(postgres);
      if (urls.serviceUrl !== undefined) await putServiceUser(postgres, urls.serviceUrl);
      return [...applied, ...(await migrateClickHouse(clickhouse))];
    });
  } finally {
    await Promise.all([postgres.destroy(), clickhouse.close()]);
  }
}

const lockWaitMsMax = 120_000;

/** Holds the lock in a transaction, so that a process that dies releases it. */
async function withMigrationLock<T>(postgres: Postgres, work: () => Promise<T>): Promise<T> {
  return postgres.transaction(async (lockHolder) => {
    await allowStatements(lockHolder, lockWaitMsMax);
    await lockHolder.raw('select pg_advisory_xact_lock(?)', [lockKey]);
    return work();
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const applied = await migrate(readStoreUrls());
  console.log(applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}`);
}
