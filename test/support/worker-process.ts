import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Child, spawnChild } from '../../dev/process/child.ts';

export interface EngineUrls {
  databaseUrl: string;
  redisUrl: string;
  clickhouseUrl: string;
  /** The servers with the tables, if they are not that of `clickhouseUrl`. */
  shardUrls?: readonly string[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
/** A worker drains for at most 20 s. This is longer. */
const stopTimeoutMs = 25_000;

/**
 * Runs the worker of the product in a separate process with these engines. Its secrets are random,
 * because it does not check credentials.
 */
export async function spawnWorker(urls: EngineUrls, logFile: string): Promise<Child & { end: () => Promise<void> }> {
  const child = await spawnChild({
    command: process.execPath,
    args: ['--import', 'tsx', 'workers/main.ts'],
    cwd: root,
    logFile,
    env: {
      ...process.env,
      DATABASE_URL: urls.databaseUrl,
      REDIS_URL: urls.redisUrl,
      CLICKHOUSE_URL: urls.clickhouseUrl,
      CLICKHOUSE_SHARD_URLS: urls.shardUrls?.join(';'),
      ADMIN_API_KEY: randomSecret(),
      API_KEY_PEPPER: randomSecret(),
      LOG_LEVEL: 'info',
    },
  });
  return { ...child, end: () => child.stop('SIGTERM', stopTimeoutMs) };
}

/** Returns a text that is long enough for every secret of the configuration. */
export function randomSecret(): string {
  return randomBytes(24).toString('base64url');
}
