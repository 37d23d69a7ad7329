import { environment, ownerUrl, parse, urlOfTables } from '../config.ts';

const clickhouse = environment.pick({ CLICKHOUSE_URL: true, CLICKHOUSE_SHARD_URLS: true });

/**
 * Reads only the URL of ClickHouse that statements go to.
 * @throws ConfigError as `readConfig` does
 */
export function readClickHouseUrl(env?: NodeJS.ProcessEnv): string {
  return urlOfTables(parse(clickhouse, env));
}

const storeUrls = environment
  .pick({ DATABASE_URL: true, CLICKHOUSE_URL: true, CLICKHOUSE_SHARD_URLS: true, CLICKHOUSE_CLUSTER: true })
  .extend(ownerUrl);

/**
 * Reads the URLs that migrations need. `serviceUrl` is set only if the service connects as another
 * user than the migrations.
 * @throws ConfigError as `readConfig` does
 */
export function readStoreUrls(env?: NodeJS.ProcessEnv): {
  databaseUrl: string;
  serviceUrl: string | undefined;
  clickhouseUrl: string;
  /** The name of the cluster of ClickHouse and its servers. Undefined if it is one server. */
  cluster: { name: string; shardUrls: readonly string[] } | undefined;
} {
  const { DATABASE_URL, DATABASE_MIGRATE_URL, ...shards } = parse(storeUrls, env);
  const databaseUrl = DATABASE_MIGRATE_URL ?? DATABASE_URL;
  const isOther = new URL(databaseUrl).username !== new URL(DATABASE_URL).username;
  const { CLICKHOUSE_URL: clickhouseUrl, CLICKHOUSE_SHARD_URLS: shardUrls, CLICKHOUSE_CLUSTER: name } = shards;
  return {
    databaseUrl,
    serviceUrl: isOther ? DATABASE_URL : undefined,
    clickhouseUrl,
    cluster: shardUrls && { name, shardUrls },
  };
}
