import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Engines } from '../../../dev/engines.ts';
import { connectWorkerRedis } from '../../../src/stores/redis/client.ts';
import { adminKey, apiKeyPepper } from '../stack.ts';

const word = (name: string) => `${name}-${randomUUID()}`;
const webhookSecret = (name: string) => `whsec_${Buffer.from(word(name)).toString('base64')}`;

/** Secret words that must never be in a log, an error or a metric, by their kind. */
export const canaries = {
  adminKey,
  apiKeyPepper,
  jwtSecret: word('jwt-secret'),
  clerkSecret: webhookSecret('clerk'),
  workosSecret: word('workos'),
  genericSecret: webhookSecret('generic'),
  postgresPassword: word('postgres'),
  redisPassword: word('redis'),
  clickhousePassword: word('clickhouse'),
  /** Words in spans, templates, variables, names and addresses. */
  payload: word('payload'),
};

const user = 'canary';

/** Returns a configuration in which every secret is a canary. */
export async function canaryEnv(engines: Engines): Promise<Record<string, string>> {
  const { url: databaseUrl } = engines.postgres;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`create role ${user} superuser login password '${canaries.postgresPassword}'`);
  await client.end();
  await letCanaryIntoRedis(engines);
  // The embedded ClickHouse generates its only password.
  canaries.clickhousePassword = new URL(engines.clickhouse.url).password;
  return {
    DATABASE_URL: withCredentials(databaseUrl, canaries.postgresPassword),
    REDIS_URL: withCredentials(engines.redis.url, canaries.redisPassword),
    CLICKHOUSE_URL: engines.clickhouse.url,
    JWT_SECRET: canaries.jwtSecret,
    CLERK_WEBHOOK_SECRETS: canaries.clerkSecret,
    WORKOS_WEBHOOK_SECRETS: canaries.workosSecret,
    GENERIC_WEBHOOK_SECRETS: canaries.genericSecret,
  };
}

/** Creates users of Redis. Redis loses them when it ends. */
export async function letCanaryIntoRedis({ redis: { url } }: Engines): Promise<void> {
  const redis = connectWorkerRedis(url);
  try {
    await redis.call('ACL', 'SETUSER', user, 'on', `>${canaries.redisPassword}`, '~*', '&*', '+@all');
  } finally {
    redis.disconnect();
  }
}

function withCredentials(url: string, password: string): string {
  const parsed = new URL(url);
  parsed.username = user;
  parsed.password = password;
  return parsed.href.replace(/\/$/, '');
}
