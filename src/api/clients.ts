import type { Config } from '../config.ts';
import { type BodyPublisher, createBodyPublisher } from '../queue/body-publisher.ts';
import { DurabilityBarrier } from '../queue/durability-barrier.ts';
import { createIdentityEventPublisher, type IdentityEventPublisher } from '../queue/identity-event-publisher.ts';
import { RedisClock } from '../queue/redis-clock.ts';
import { type ClickHouse, connectClickHouse } from '../stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../stores/postgres/client.ts';
import { connectRequestRedis, type Redis } from '../stores/redis/client.ts';
import type { Logger } from '../telemetry/logger.ts';

/** The connections of the API process. */
export interface Clients {
  /**
   * Sixteen connections for handlers. A workspace has at most thirteen: five for records, two for lists (`RequestLanes`),
   * four for parts, one for the names of prompts and one for suggestions.
   */
  postgres: Postgres;
  /**
   * Separate connections for credentials, which are looked up for all callers before it is known
   * which workspace they belong to.
   */
  credentials: Postgres;
  /**
   * Separate connections for imports, exports, and feedback of executions and analytics, which have lanes of their own.
   * A workspace has at most four of them, two for feedback.
   */
  longWork: Postgres;
  clickhouse: ClickHouse;
  redis: Redis;
  /** The time according to Redis. */
  clock: RedisClock;
  publisher: BodyPublisher;
  identityEvents: IdentityEventPublisher;
}

const handlerConnectionsMax = 16;
const credentialConnectionsMax = 4;
const longWorkConnectionsMax = 8;

/** Creates the clients of the API process. */
export function connectClients(config: Config, logger: Logger): Clients {
  const redis = connectRequestRedis(config.redisUrl);
  redis.on('error', (error: unknown) => logger.warn({ err: error }, 'redis connection'));
  const clock = new RedisClock();
  const barrier = new DurabilityBarrier(redis);
  return {
    postgres: connectPostgres(config.databaseUrl, handlerConnectionsMax),
    credentials: connectPostgres(config.databaseUrl, credentialConnectionsMax),
    longWork: connectPostgres(config.databaseUrl, longWorkConnectionsMax),
    clickhouse: connectClickHouse(config.clickhouseUrl),
    redis,
    clock,
    publisher: createBodyPublisher(redis, { clock, barrier }),
    identityEvents: createIdentityEventPublisher(redis, barrier),
  };
}

/** Closes all clients; the queues first, because they use the Redis connection. */
export async function closeClients(clients: Clients): Promise<void> {
  const { postgres, credentials, longWork, clickhouse, redis, publisher, identityEvents } = clients;
  await Promise.all([publisher.close(), identityEvents.close()]);
  redis.disconnect();
  const pools = [postgres, credentials, longWork];
  await Promise.all([...pools.map((pool) => pool.destroy()), clickhouse.close()]);
}
