import type { TestProject } from 'vitest/node';
import { share, startStack } from '../global-setup.ts';
import { startClickHouseCluster } from './clickhouse-cluster.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';

/** As the global set-up of the other projects, with ClickHouse on two shards and PgBouncer before Postgres. */
export const setup = (project: TestProject) =>
  share(project, async () => startStack({ cluster: await startClickHouseCluster(2), poolOf: startPool }));

async function startPool(serverUrl: string): Promise<PgBouncer | undefined> {
  const pool = await startPgBouncer(serverUrl);
  if (pool === undefined)
    console.warn('PgBouncer is not installed (apt-get install pgbouncer): tests use Postgres itself.');
  return pool;
}
