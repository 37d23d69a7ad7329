import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Engines, startThrowawayEngines } from '../dev/engines.ts';
import { freePort } from '../dev/ports.ts';
import { type Child, spawnChild } from '../dev/process/child.ts';
import { startReaper } from '../dev/process/reaper.ts';
import { seed } from '../dev/seed.ts';
import { untilHealthy } from '../dev/up/apps.ts';
import { migrate } from '../src/cli/migrate.ts';
import type { Target } from './target.ts';

export interface OwnTarget extends Target {
  /** Stops the API and the worker in an orderly way, so that they write their profiles. */
  stopApps(): Promise<void>;
  /** Stops all processes and removes their data. */
  stop(): Promise<void>;
  /** Directory of the profiles of API and worker, if they are profiled. */
  profileDir: string;
  databaseUrl: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const entries = {
  build: { args: [], api: 'dist/src/main.js', worker: 'dist/workers/main.js' },
  source: { args: ['--import', 'tsx'], api: 'src/main.ts', worker: 'workers/main.ts' },
} as const;
const stopTimeoutMs = 25_000;

/** Creates the production build in dist/. Throws an error with the output of the compiler if it fails. */
export async function build(): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root }).catch((error: { stdout?: string }) => {
    throw new Error(`npm run build failed; --source runs without it:\n${error.stdout ?? String(error)}`);
  });
}

/** Starts temporary engines, migrates and seeds them, and starts one API and one worker process. */
export async function startOwnTarget(options: { fromSource: boolean; profile: boolean }): Promise<OwnTarget> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-bench-'));
  const reaper = startReaper(directory);
  const engines = await startThrowawayEngines();
  const apps: Child[] = [];
  const stopApps = async () => {
    await Promise.all(apps.map((app) => app.stop('SIGTERM', stopTimeoutMs)));
  };
  const stop = async () => {
    await stopApps();
    await engines.stop();
    await reaper.close();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const port = await freePort();
    const { env, seeded } = await furnish(engines, port);
    const launch = async (name: 'api' | 'worker') => {
      const app = describe(name, { ...options, directory, env });
      const child = await spawnChild({ command: process.execPath, cwd: root, ...app });
      reaper.watch(child);
      apps.push(child);
      return { child, app: { name, root, entry: '', env, logFile: app.logFile } };
    };
    const worker = await launch('worker');
    const api = await launch('api');
    const url = `http://127.0.0.1:${port}`;
    await untilHealthy(api.app, api.child, url, AbortSignal.timeout(stopTimeoutMs));
    return {
      url,
      apiKey: seeded.apiKey,
      adminKey: env.ADMIN_API_KEY,
      projectId: seeded.projectId,
      clickhouseUrl: engines.clickhouse.url,
      databaseUrl: engines.postgres.url,
      pids: {
        api: api.child.pid,
        worker: worker.child.pid,
        clickhouse: engines.clickhouse.pid,
        redis: engines.redis.pid,
      },
      versions: { postgres: engines.postgres.version ?? 'unknown', redis: engines.redis.version ?? 'unknown' },
      profileDir: directory,
      stopApps,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function furnish(engines: Engines, port: number) {
  const apiKeyPepper = randomBytes(24).toString('hex');
  const urls = { databaseUrl: engines.postgres.url, clickhouseUrl: engines.clickhouse.url };
  await migrate(urls);
  const seeded = await seed({ databaseUrl: urls.databaseUrl, apiKeyPepper });
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    DATABASE_URL: urls.databaseUrl,
    REDIS_URL: engines.redis.url,
    CLICKHOUSE_URL: urls.clickhouseUrl,
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_API_KEY: randomBytes(24).toString('hex'),
    API_KEY_PEPPER: apiKeyPepper,
    JWT_SECRET: randomBytes(24).toString('hex'),
    DEFAULT_PLAN: 'enterprise',
    LOG_LEVEL: 'info',
  };
  return { env, seeded };
}

function describe(
  name: 'api' | 'worker',
  options: { fromSource: boolean; profile: boolean; directory: string; env: NodeJS.ProcessEnv },
) {
  const mode = entries[options.fromSource ? 'source' : 'build'];
  const profile = options.profile
    ? ['--cpu-prof', `--cpu-prof-dir=${options.directory}`, `--cpu-prof-name=${name}.cpuprofile`]
    : [];
  return {
    args: [...profile, ...mode.args, mode[name]],
    env: options.env,
    logFile: join(options.directory, `${name}.log`),
  };
}
