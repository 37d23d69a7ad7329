import { join } from 'node:path';
import { Engine, type EngineName } from './engines.ts';
import { freePort, portFault } from './ports.ts';
import { emptyLargeLogs } from './process/log-file.ts';
import { ensureRedisBinary } from './redis/binary.ts';
import { seed } from './seed.ts';
import { serviceUrlOf } from './service-url.ts';
import { type App, launchApp, runScript, untilHealthy } from './up/apps.ts';
import { banner } from './up/banner.ts';
import { readUpConfig, type UpConfig } from './up/config.ts';
import { type EnginePorts, readPorts, removeConnection, writePorts } from './up/connection-file.ts';
import { CannotStart } from './up/errors.ts';
import { replaceJson } from './up/files.ts';
import { layoutRefusal } from './up/layout-refusal.ts';
import { acquireLock } from './up/lock.ts';
import { stopLeftovers } from './up/process-records.ts';
import { requireReachable } from './up/reachable.ts';
import { type CompleteSecrets, loadSecrets } from './up/secrets.ts';
import { layOut, type Paths, Session } from './up/session.ts';
import { stopRequest } from './up/stop-request.ts';

type EngineUrls = Readonly<Record<EngineName, string>>;

/** Runs all processes until a stop request. Resolves with the exit code. */
export async function up(root: string, env: NodeJS.ProcessEnv): Promise<number> {
  const stopRequested = stopRequest();
  try {
    const config = readUpConfig(env, root);
    const paths = layOut(config.dataDir);
    const release = acquireLock(paths.lock);
    try {
      await runSession(config, paths, root, env, stopRequested);
    } finally {
      release();
    }
    return 0;
  } catch (error) {
    if (stopRequested.aborted) return 0;
    console.error(error instanceof CannotStart ? `✗ ${error.message}` : error);
    return 1;
  }
}

async function runSession(
  config: UpConfig,
  paths: Paths,
  root: string,
  env: NodeJS.ProcessEnv,
  stopRequested: AbortSignal,
): Promise<void> {
  removeConnection(paths.connection);
  await stopLeftovers(paths.records);
  await requirePort(config);
  await requireReachable(env);
  stopRequested.throwIfAborted();
  emptyLargeLogs(paths.logs);
  const secrets = loadSecrets(paths.secrets, env);
  if (!config.externalUrls.redis) await ensureRedisBinary();
  const session = new Session(paths);
  try {
    const urls = await startEngines(session, config);
    stopRequested.throwIfAborted();
    const app = describeApps(session, root, appEnvironment(env, config, secrets, urls));
    const migrateUrl = env.DATABASE_MIGRATE_URL || urls.postgres;
    const migrating = app('migrate', 'src/cli/migrate.ts');
    migrating.env = { ...migrating.env, DATABASE_MIGRATE_URL: migrateUrl };
    await timed('migrations applied', () => runScript(migrating, stopRequested)).catch(async (failure: unknown) => {
      const refusal = await layoutRefusal(config, { databaseUrl: migrateUrl, clickhouseUrl: urls.clickhouse });
      throw refusal ?? failure;
    });
    stopRequested.throwIfAborted();
    const seeded = await seed({
      databaseUrl: migrateUrl,
      apiKeyPepper: secrets.api_key_pepper,
      ...(secrets.api_key && { apiKey: secrets.api_key }),
    });
    replaceJson(paths.secrets, { ...secrets, api_key: seeded.apiKey });
    stopRequested.throwIfAborted();
    await startApps(session, app, config, stopRequested);
    const connection = session.publish({
      url: config.url,
      workspace_id: seeded.workspaceId,
      project_id: seeded.projectId,
      api_key: seeded.apiKey,
      admin_key: secrets.admin_key,
      database_url: urls.postgres,
      redis_url: urls.redis,
      clickhouse_url: urls.clickhouse,
      llm_base_url: config.llmBaseUrl,
    });
    console.log(banner(connection, paths.logs));
    await new Promise((resolve) => stopRequested.addEventListener('abort', resolve));
  } finally {
    await session.stop();
  }
}

async function requirePort({ host, port }: UpConfig): Promise<void> {
  const fault = await portFault(host, port);
  if (fault === undefined) return;
  const remedy = `stop the process that uses it, or choose another port: PORT=${port === 65_535 ? port - 1 : port + 1} npm run up`;
  if (fault === 'EADDRINUSE') throw new CannotStart(`port ${port} on ${host} is in use: ${remedy}`);
  const advice = fault === 'EADDRNOTAVAIL' ? ': it is no address of this machine. Leave HOST out to use 127.0.0.1' : '';
  throw new CannotStart(`cannot listen on port ${port} of HOST ${host} (${fault})${advice}`);
}

/** Starts the engines that do not run elsewhere, at the same time, on the ports of the last run if these are free. */
async function startEngines(session: Session, config: UpConfig): Promise<EngineUrls> {
  const lastPorts = readPorts(session.paths.ports);
  const ports: EnginePorts = {};
  const urlOf = async (name: EngineName): Promise<string> => {
    const external = config.externalUrls[name];
    if (external) return external;
    const engine = await startEngine(session, name, join(config.dataDir, name), lastPorts[name]);
    ports[name] = engine.port;
    return engine.url;
  };
  const starting = [urlOf('postgres'), urlOf('redis'), urlOf('clickhouse')] as const;
  // All starts end before an error is thrown, so that no engine starts while the session stops.
  await Promise.allSettled(starting);
  const [postgres, redis, clickhouse] = await Promise.all(starting).catch((cause: Error) => {
    throw new CannotStart(cause.message, { cause });
  });
  writePorts(session.paths.ports, { ...lastPorts, ...ports });
  return { postgres, redis, clickhouse };
}

async function startEngine(session: Session, name: EngineName, dataDir: string, lastPort?: number): Promise<Engine> {
  const startedAtMs = Date.now();
  const logFile = session.logFile(name);
  const port = await freePort(lastPort);
  const engine = await Engine.start(name, { dataDir, port, logFile, onSpawn: session.onSpawn(name) });
  session.supervise(name, engine, async () => {
    await engine.start();
    return engine;
  });
  say(`${name}${engine.version ? ` ${engine.version}` : ''} ready`, startedAtMs);
  return engine;
}

async function startApps(
  session: Session,
  app: (name: string, entry: string) => App,
  config: UpConfig,
  stopRequested: AbortSignal,
): Promise<void> {
  const startedAtMs = Date.now();
  const worker = app('worker', 'workers/main.ts');
  const api = app('api', 'src/main.ts');
  const launchWorker = () => launchApp(worker, session.onSpawn('worker'));
  const launchApi = () => launchApp(api, session.onSpawn('api'));
  session.supervise('worker', await launchWorker(), launchWorker);
  const running = await launchApi();
  try {
    await untilHealthy(api, running, config.url, stopRequested);
  } catch (error) {
    await running.stop();
    throw error;
  }
  session.supervise('api', running, launchApi);
  say('API and worker ready', startedAtMs);
}

function describeApps(session: Session, root: string, env: NodeJS.ProcessEnv): (name: string, entry: string) => App {
  return (name, entry) => ({ name, root, entry, env, logFile: session.logFile(name) });
}

function appEnvironment(
  env: NodeJS.ProcessEnv,
  config: UpConfig,
  secrets: CompleteSecrets,
  urls: EngineUrls,
): NodeJS.ProcessEnv {
  return {
    ...env,
    // An external Postgres may have only its owner as a user, so its URL is used unchanged.
    DATABASE_URL: config.externalUrls.postgres ?? serviceUrlOf(urls.postgres, secrets.database_password),
    // Only migrations change the schema.
    DATABASE_MIGRATE_URL: undefined,
    REDIS_URL: urls.redis,
    CLICKHOUSE_URL: urls.clickhouse,
    PORT: String(config.port),
    HOST: config.host,
    ADMIN_API_KEY: secrets.admin_key,
    API_KEY_PEPPER: secrets.api_key_pepper,
    JWT_SECRET: secrets.jwt_secret,
    // Limits are not useful on the machine of a developer.
    DEFAULT_PLAN: env.DEFAULT_PLAN || 'enterprise',
    LOG_LEVEL: env.LOG_LEVEL || 'info',
    LLM_BASE_URL: config.llmBaseUrl,
  };
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedAtMs = Date.now();
  await work();
  say(what, startedAtMs);
}

function say(what: string, startedAtMs: number): void {
  console.log(`✓ ${what} (${((Date.now() - startedAtMs) / 1000).toFixed(1)} s)`);
}
