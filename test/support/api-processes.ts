import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/ports.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import type { TestApi } from './api.ts';
import { AppProcess } from './app-process.ts';

export interface ApiProcesses {
  origins: readonly string[];
  close(): Promise<void>;
}

/** So many processes of the product on the engines and with the secrets of `api`, which is the one within the test. */
export async function startApiProcesses({ config }: TestApi, count: number): Promise<ApiProcesses> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-apis-'));
  const reaper = startReaper(directory);
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: config.databaseUrl,
    REDIS_URL: config.redisUrl,
    CLICKHOUSE_URL: config.clickhouseUrl,
    ADMIN_API_KEY: config.adminApiKey,
    API_KEY_PEPPER: config.apiKeyPepper,
    JWT_SECRET: config.jwt.secret,
    LOG_LEVEL: 'info',
  };
  const ports: number[] = [];
  for (let index = 0; index < count; index++) ports.push(await freePort());
  const processes = await Promise.all(
    ports.map((port) =>
      AppProcess.start({
        name: 'api',
        logFile: join(directory, `api-${port}.log`),
        reaper,
        env: { ...env, PORT: String(port) },
      }),
    ),
  );
  return {
    origins: ports.map((port) => `http://127.0.0.1:${port}`),
    async close() {
      await Promise.all(processes.map((each) => each.kill()));
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
