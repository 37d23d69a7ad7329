import { pathToFileURL } from 'node:url';
import { type ClickHouse, connectClickHouse } from '../stores/clickhouse/client.ts';
import { type Cluster, distributeTables } from '../stores/clickhouse/distribute-tables.ts';
import { migrateClickHouse, readClickHouseLayout } from '../stores/clickhouse/migrate.ts';
import { requireKnownLayout, UnknownLayoutError } from '../stores/layout.ts';
import { allowPauses, allowStatements, connectForMigrations, type Postgres } from '../stores/postgres/client.ts';
import { migratePostgres, readPostgresLayout } from '../stores/postgres/migrate.ts';
import { limitStatements, putServiceUser } from '../stores/postgres/service-role.ts';
import { explainFault } from './explain-fault.ts';
import { readStoreUrls } from './store-urls.ts';

/**
 * The key of the advisory lock that makes concurrent starts take turns: "plmigrat" as a 64-bit
 * number.
 */
const lockKey = '8100122917497462132';

interface StoreUrls {
  databaseUrl: string;
  clickhouseUrl: string;
  /** Undefined if ClickHouse is one server. */
  cluster?: Cluster | undefined;
}

/** The open stores. */
interface Stores {
  postgres: Postgres;
  /** The servers of ClickHouse that have the tables: one, or one of each shard. */
  shards: readonly ClickHouse[];
}

/**
 * Migrates both stores to the current schema. Safe to call from several processes at the same time.
 * `databaseUrl` names the owner of the tables. With `serviceUrl`, its user is created and gets
 * access to the tables.
 * @returns the names of the applied migrations
 * @throws UnknownLayoutError before any change, as {@link requireKnownLayouts} does
 */
export async function migrate(urls: StoreUrls & { serviceUrl?: string | undefined }): Promise<string[]> {
  return withStores(urls, (stores) =>
    withMigrationLock(stores.postgres, async () => {
      const { postgres, shards } = stores;
      await checkLayouts(stores);
      const applied = await migratePostgres(postgres);
      if (urls.serviceUrl !== undefined) await putServiceUser(postgres, urls.serviceUrl);
      await limitStatements(postgres, urls.serviceUrl ?? urls.databaseUrl);
      for (const shard of shards) applied.push(...(await migrateClickHouse(shard)));
      const facade = new URL(urls.clickhouseUrl).pathname.slice(1) || 'default';
      if (urls.cluster) for (const shard of shards) await distributeTables(shard, { facade, ...urls.cluster });
      return [...new Set(applied)];
    }),
  );
}

/**
 * Checks that this version knows every migration that the stores have run.
 * @throws UnknownLayoutError of the first store with other migrations
 */
export async function requireKnownLayouts(urls: StoreUrls): Promise<void> {
  await withStores(urls, checkLayouts);
}

async function checkLayouts({ postgres, shards }: Stores): Promise<void> {
  requireKnownLayout(await readPostgresLayout(postgres));
  for (const shard of shards) requireKnownLayout(await readClickHouseLayout(shard));
}

async function withStores<T>(
  { databaseUrl, clickhouseUrl, cluster }: StoreUrls,
  work: (stores: Stores) => Promise<T>,
): Promise<T> {
  const postgres = connectForMigrations(databaseUrl, 2);
  const shardUrls = cluster?.shardUrls ?? [clickhouseUrl];
  const shards = shardUrls.map((url) => connectClickHouse(url, { requestTimeoutMs: 120_000 }));
  try {
    return await work({ postgres, shards });
  } finally {
    await Promise.all([postgres.destroy(), ...shards.map((shard) => shard.close())]);
  }
}

const lockWaitMsMax = 120_000;

/** Holds the lock in a transaction, so that a process that dies releases it. */
async function withMigrationLock<T>(postgres: Postgres, work: () => Promise<T>): Promise<T> {
  return postgres.transaction(async (lockHolder) => {
    await allowStatements(lockHolder, lockWaitMsMax);
    await allowPauses(lockHolder, 0);
    await lockHolder.raw('select pg_advisory_xact_lock(?)', [lockKey]);
    return work();
  });
}

const startOver =
  'create an empty database in Postgres and in ClickHouse and name them in DATABASE_URL and CLICKHOUSE_URL; ' +
  'with docker-compose.yml, run: docker compose down --volumes';

/** Runs the command and returns its exit code: 0 migrated, 1 refused. */
async function main(): Promise<number> {
  try {
    const applied = await migrate(readStoreUrls());
    console.log(applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}`);
    return 0;
  } catch (error) {
    const fault = error instanceof UnknownLayoutError ? error.explain(startOver) : explainFault(error);
    if (fault === undefined) throw error;
    console.error(fault);
    return 1;
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await main();
}
