import type { TestProject } from 'vitest/node';
import { share, startStack } from '../global-setup.ts';
import { startClickHouseCluster } from './clickhouse-cluster.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';
import { startRedisCluster } from './redis-cluster.ts';

/**
 * As the global set-up of the other projects, with ClickHouse on two shards, a Redis Cluster of three nodes and
 * PgBouncer before Postgres.
 */
export const setup = (project: TestProject) =>
  share(project, async () =>
    startStack({ cluster: await startClickHouseCluster(2), redis: await startRedisClusters(), poolOf: startPool }),
  );

/** A cluster for the product, and clusters of one node for tests that need a Redis of their own. */
async function startRedisClusters() {
  const [shared, ...own] = await Promise.all([
    startRedisCluster(3),
    ...Array.from({ length: ownClusters }, () => startRedisCluster(1)),
  ]);
  return {
    url: shared.url,
    ownUrls: own.map(({ url }) => url),
    stop: async () => void (await Promise.all([shared, ...own].map((cluster) => cluster.stop()))),
  };
}

/** Numbers of own-redis.ts. */
const ownClusters = 11;

async function startPool(serverUrl: string): Promise<PgBouncer | undefined> {
  const pool = await startPgBouncer(serverUrl);
  if (pool === undefined)
    console.warn('PgBouncer is not installed (apt-get install pgbouncer): tests use Postgres itself.');
  return pool;
}
