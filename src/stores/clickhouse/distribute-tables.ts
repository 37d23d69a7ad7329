import type { ClickHouse } from './client.ts';
import { TopologyError } from './require-topology.ts';
import { readRows, runStatement } from './statements.ts';

/** Shards of ClickHouse with the tables, behind `Distributed` tables of the same names. */
export interface Cluster {
  /** The databases with the tables themselves, one of each shard. */
  shardUrls: readonly string[];
  /** The name of the cluster in `remote_servers` of each server: letters, digits, `_` and `-`. */
  name: string;
}

/** Keeps a trace on one shard. Node computes the same: `crc32` of `node:zlib` over the 16 bytes of the id. */
const shardingKey = 'CRC32(trace_id)';

/**
 * Creates `Distributed` tables over the tables of all shards, on the server of one shard and in the database `facade`.
 * They hold no data, so each migration makes them anew.
 * @throws TopologyError if the server does not know the cluster as it is configured
 */
export async function distributeTables(
  shard: ClickHouse,
  { facade, name, shardUrls }: Cluster & { facade: string },
): Promise<void> {
  const local = await localTables(shard, name);
  if (local.shards !== shardUrls.length) {
    throw new TopologyError(
      `remote_servers of ${local.host} has ${local.shards} shards for the cluster ${name}, ` +
        `and CLICKHOUSE_SHARD_URLS names ${shardUrls.length}. Describe the same shards in both`,
    );
  }
  if (facade === local.database) {
    throw new TopologyError(
      `CLICKHOUSE_URL and CLICKHOUSE_SHARD_URLS name the same database, ${facade}. Name another one in CLICKHOUSE_URL: ` +
        'it gets Distributed tables with the names of the tables',
    );
  }
  await runStatement(shard, { query: 'CREATE DATABASE IF NOT EXISTS {facade:Identifier}', query_params: { facade } });
  for (const table of local.tables) {
    await runStatement(shard, {
      query: `CREATE OR REPLACE TABLE {facade:Identifier}.${table} AS ${table}
              ENGINE = Distributed('${name}', currentDatabase(), '${table}', ${shardingKey})`,
      query_params: { facade },
    });
  }
}

interface LocalTables {
  host: string;
  database: string;
  /** How many shards the cluster has, as this server knows it. */
  shards: number;
  /** All tables with rows of traces. */
  tables: string[];
}

async function localTables(shard: ClickHouse, cluster: string): Promise<LocalTables> {
  const [found] = await readRows<LocalTables>(shard, {
    query: `SELECT hostName() AS host, currentDatabase() AS database,
              (SELECT uniqExact(shard_num)::Float64 FROM system.clusters WHERE cluster = {cluster:String}) AS shards,
              (SELECT groupArray(table) FROM system.columns
               WHERE database = currentDatabase() AND name = 'trace_id'
                 AND table NOT IN (SELECT name FROM system.tables
                                   WHERE database = currentDatabase() AND engine = 'MaterializedView')) AS tables`,
    query_params: { cluster },
    format: 'JSONEachRow',
  });
  if (found === undefined) throw new Error('A query without a table always has one row');
  return found;
}
