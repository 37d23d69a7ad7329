import type { Config } from '../src/config.ts';
import { UnavailableError } from '../src/lib/errors.ts';
import { backgroundSettings, type ClickHouse, connectClickHouse } from '../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../src/stores/redis/client.ts';
import { createLogger, type Logger } from '../src/telemetry/logger.ts';

/** Time after which a ClickHouse that accepts connections but does not respond is reported. */
const insertTimeoutMs = 15_000;
const slowTimeoutMs = 30 * 60_000;
const postgresConnectionsMax = 4;

/** The connections of a worker process. */
export interface WorkerClients {
  config: Config;
  postgres: Postgres;
  clickhouse: ClickHouse;
  /** Connections for statements that take minutes, to each server with tables. */
  shards: readonly ClickHouse[];
  redis: Redis;
  logger: Logger;
  /** Aborted by `stop`. */
  stopping: AbortSignal;
  /** Makes jobs stop waiting for a store, so that they go back to the queue. */
  stop(): void;
  close(): Promise<void>;
}

export function connectClients(config: Config, name: string): WorkerClients {
  const logger = createLogger({ level: config.logLevel, name });
  const postgres = connectPostgres(config.databaseUrl, postgresConnectionsMax);
  const clickhouse = connectClickHouse(config.clickhouseUrl, {
    requestTimeoutMs: insertTimeoutMs,
    settings: backgroundSettings,
  });
  const shards = config.clickhouseShardUrls.map((url) =>
    connectClickHouse(url, { requestTimeoutMs: slowTimeoutMs, settings: backgroundSettings }),
  );
  const redis = connectWorkerRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection'));
  const stopping = new AbortController();
  return {
    ...{ config, postgres, clickhouse, shards, redis, logger },
    stopping: stopping.signal,
    stop: () => stopping.abort(new UnavailableError('dependency_unavailable', 'The worker is stopping')),
    async close() {
      redis.disconnect();
      await Promise.all([postgres.destroy(), ...[clickhouse, ...shards].map((client) => client.close())]);
    },
  };
}
