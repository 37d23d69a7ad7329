import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/ports.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import type { Config } from '../../src/config.ts';
import { AppProcess } from './app-process.ts';

/** An API in a separate process. */
export interface OwnApi {
  url: string;
  process: AppProcess;
  stop(): Promise<void>;
}

export interface OwnApiOptions {
  /** Files that the process loads first. */
  preload?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Starts an API with the engines and secrets of another API, so that both accept the same keys and tokens. */
export async function startOwnApi(config: Config, { preload = [], env = {} }: OwnApiOptions = {}): Promise<OwnApi> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-api-'));
  const reaper = startReaper(directory);
  const port = await freePort();
  const process = await AppProcess.start({
    name: 'api',
    logFile: join(directory, 'api.log'),
    reaper,
    env: { ...environment(config, port), ...env },
    preload,
  });
  return {
    url: `http://127.0.0.1:${port}`,
    process,
    async stop() {
      await process.kill();
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function environment(config: Config, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    PORT: String(port),
    DATABASE_URL: config.databaseUrl,
    REDIS_URL: config.redisUrl,
    CLICKHOUSE_URL: config.clickhouseUrl,
    ADMIN_API_KEY: config.adminApiKey,
    API_KEY_PEPPER: config.apiKeyPepper,
    JWT_SECRET: config.jwt.secret,
    LOG_LEVEL: 'info',
  };
}
