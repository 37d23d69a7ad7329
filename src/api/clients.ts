import type { Config } from '../config.ts';
import { type BodyPublisher, createBodyPublisher } from '../queue/body-publisher.ts';
import { DurabilityBarrier } from '../queue/durability-barrier.ts';
import { createIdentityEventPublisher, type IdentityEventPublisher } from '../queue/identity-event-publisher.ts';
import { RedisClock } from '../queue/redis-clock.ts';
import { type ClickHouse, connectClickHouse } from '../stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../stores/postgres/client.ts';
import { connectRequestRedis, type Redis } from '../stores/redis/client.ts';
import type { Logger } from '../telemetry/logger.ts';

/** What the API process is connected to. */
export interface Clients {
  /** Ten connections for handlers, which `RequestLanes` shares out between workspaces. */
  postgres: Postgres;
  /** Connections of their own for credentials, which are looked up for everybody before it is known whose share they use. */
  credentials: Postgres;
  clickhouse: ClickHouse;
  redis: Redis;
  /** The time as Redis has it. */
  clock: RedisClock;
  publisher: BodyPublisher;
  identityEvents: IdentityEventPublisher;
}

const credentialConnectionsMax = 4;

export function connectClients(config: Config, logger: Logger): Clients {
  const redis = connectRequestRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection'));
  const clock = new RedisClock();
  const barrier = new DurabilityBarrier(redis);
  return {
    postgres: connectPostgres(config.databaseUrl),
    credentials: connectPostgres(config.databaseUrl, credentialConnectionsMax),
    clickhouse: connectClickHouse(config.clickhouseUrl),
    redis,
    clock,
    publisher: createBodyPublisher(redis, { clock, barrier }),
    identityEvents: createIdentityEventPublisher(redis, barrier),
  };
}

export async function closeClients(clients: Clients): Promise<void> {
  const { postgres, credentials, clickhouse, redis, publisher, identityEvents } = clients;
  await Promise.all([publisher.close(), identityEvents.close()]);
  redis.disconnect();
  await Promise.all([postgres.destroy(), credentials.destroy(), clickhouse.close()]);
}
