import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Queue } from 'bullmq';
import { onTestFailed } from 'vitest';
import { type Engines, startThrowawayEngines } from '../../dev/engines.ts';
import { freePort } from '../../dev/ports.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import { seed } from '../../dev/seed.ts';
import { serviceUrlOf } from '../../dev/service-url.ts';
import { migrate } from '../../src/cli/migrate.ts';
import type { PlanName } from '../../src/domains/workspaces/index.ts';
import { clusterUrl } from '../../src/lib/cluster-settings.ts';
import { newId } from '../../src/lib/ids.ts';
import { connectQueue } from '../../src/queue/connect-queue.ts';
import { jobCatalog } from '../../src/queue/job-catalog.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { AppProcess } from './app-process.ts';
import type { ClickHouseCluster } from './cluster/clickhouse-cluster.ts';
import type { RedisCluster } from './cluster/redis-cluster.ts';
import { until } from './until.ts';

export interface Project {
  id: string;
  apiKey: string;
}

/** The whole product: three engines, the API and one worker. A test may kill and restart each process. */
export interface Stack {
  engines: Engines;
  api: AppProcess;
  worker: AppProcess;
  apiUrl: string;
  adminKey: string;
  /** A connection of the test. It waits during an outage. */
  redis: Redis;
  clickhouse: ClickHouse;
  /** The queue of small bodies. */
  ingest: Queue;
  ingestLarge: Queue;
  isolation: Queue;
  /** Starts another worker like the first. `stop` ends it as well. */
  startWorker(): Promise<AppProcess>;
  /** Creates a project with a key with all scopes, in the seeded workspace unless another is given. */
  createProject(name: string, workspaceId?: string): Promise<Project>;
  /** Creates a workspace with a plan. Resolves to its id. */
  createWorkspace(name: string, plan: PlanName): Promise<string>;
  /** Waits until no body is queued, delayed or in progress. Resolves to the elapsed time. */
  untilIdle(timeoutMs: number): Promise<number>;
  stop(): Promise<void>;
}

export interface StackOptions {
  /** The tables are on these shards. */
  cluster?: ClickHouseCluster;
  /** API and worker use this Redis Cluster. */
  redisCluster?: RedisCluster;
  /** Files that the worker loads first. */
  workerPreload?: readonly string[];
  /** Files that the API loads first. */
  apiPreload?: readonly string[];
  /** Additional variables of API and worker. */
  env?: Readonly<Record<string, string>>;
  /** Additional variables that depend on the engines. */
  envOf?: (engines: Engines) => Promise<Readonly<Record<string, string>>>;
  /** Starts a proxy between the worker and ClickHouse. Returns the URL for the worker. */
  workerClickHouseUrl?: (url: string) => Promise<string>;
}

/** Secrets that are the same in every stack. */
export const adminKey = 'admin-key-of-the-fault-tests';
export const apiKeyPepper = 'pepper-of-the-fault-tests';

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const engines = await startThrowawayEngines();
  const { url: ownerUrl } = engines.postgres;
  const databaseUrl = serviceUrlOf(ownerUrl, 'password-of-the-fault-tests');
  const { cluster, redisCluster } = options;
  const redisUrl = redisCluster?.url ?? engines.redis.url;
  const { url: clickhouseUrl } = cluster ?? engines.clickhouse;
  await commitSynchronously(ownerUrl);
  await migrate({ databaseUrl: ownerUrl, serviceUrl: databaseUrl, clickhouseUrl, cluster });
  const seeded = await seed({ databaseUrl: ownerUrl, apiKeyPepper });
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-apps-'));
  const reaper = startReaper(directory);
  const port = await freePort();
  const apiUrl = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    CLICKHOUSE_URL: clickhouseUrl,
    ADMIN_API_KEY: adminKey,
    API_KEY_PEPPER: apiKeyPepper,
    DEFAULT_PLAN: 'enterprise',
    ...(cluster && { CLICKHOUSE_SHARD_URLS: cluster.shardUrls.join(';'), CLICKHOUSE_CLUSTER: cluster.name }),
    ...options.env,
    ...(await options.envOf?.(engines)),
  };
  const workers: AppProcess[] = [];
  const workerClickHouseUrl = (await options.workerClickHouseUrl?.(clickhouseUrl)) ?? clickhouseUrl;
  async function startWorker(): Promise<AppProcess> {
    const worker = await AppProcess.start({
      name: 'worker',
      env: { ...env, ...(options.workerClickHouseUrl && { CLICKHOUSE_URL: workerClickHouseUrl }) },
      logFile: join(directory, `worker-${workers.length}.log`),
      reaper,
      ...(options.workerPreload && { preload: options.workerPreload }),
    });
    workers.push(worker);
    return worker;
  }
  const [api, worker] = await Promise.all([
    AppProcess.start({
      name: 'api',
      env,
      logFile: join(directory, 'api.log'),
      reaper,
      ...(options.apiPreload && { preload: options.apiPreload }),
    }),
    startWorker(),
  ]);
  const redis = connectWorkerRedis(redisUrl);
  redis.on('error', () => undefined);
  const clickhouse = connectClickHouse(cluster ? clusterUrl(clickhouseUrl) : clickhouseUrl);
  const ingest = connectQueue(jobCatalog.ingestBody.queue, redis);
  const ingestLarge = connectQueue(jobCatalog.ingestLargeBody.queue, redis);
  const isolation = connectQueue(jobCatalog.isolateBody.queue, redis);
  return {
    engines,
    api,
    worker,
    apiUrl,
    adminKey,
    redis,
    clickhouse,
    ingest,
    ingestLarge,
    isolation,
    startWorker,
    createProject: (name, workspaceId = seeded.workspaceId) => createProject(apiUrl, workspaceId, name),
    createWorkspace: (name, plan) => createWorkspace(databaseUrl, name, plan),
    untilIdle: (timeoutMs) => untilIdle([ingest, ingestLarge, isolation], timeoutMs),
    async stop() {
      await Promise.all([api, ...workers].map((each) => each.kill()));
      redis.disconnect();
      await clickhouse.close();
      await engines.stop();
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** If the running test fails, prints the last lines of both processes. */
export function showLogsOnFailure({ api, worker }: Stack, lines = 15): void {
  onTestFailed(() => console.error(`${api.logTail(lines)}\n${worker.logTail(lines)}`));
}

/** The temporary Postgres may lose its last commits when it is killed. The real one must not. */
async function commitSynchronously(databaseUrl: string): Promise<void> {
  const postgres = connectPostgres(databaseUrl, 1);
  await postgres.raw('alter database promptlane set synchronous_commit = on');
  await postgres.destroy();
}

async function untilIdle(queues: readonly Queue[], timeoutMs: number): Promise<number> {
  const startedAtMs = Date.now();
  let left: unknown;
  const isIdle = async () => {
    left = await Promise.all(queues.map((queue) => queue.getJobCounts('wait', 'prioritized', 'delayed', 'active')));
    return !/[1-9]/.test(JSON.stringify(left));
  };
  await until('the queues are empty', timeoutMs, isIdle).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(left)}`);
  });
  return Date.now() - startedAtMs;
}

/** Inserts a workspace, because no route creates one. Identity providers and first sign-ins do. */
async function createWorkspace(databaseUrl: string, name: string, plan: PlanName): Promise<string> {
  const postgres = connectPostgres(databaseUrl, 1);
  const id = newId('wsp');
  await postgres('workspaces').insert({ id, name, plan });
  await postgres.destroy();
  return id;
}

async function createProject(apiUrl: string, workspaceId: string, name: string): Promise<Project> {
  const post = async (path: string, body: unknown): Promise<{ id: string; key: string }> => {
    const response = await fetch(apiUrl + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Admin-Key': adminKey },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string; key: string };
  };
  const project = await post(`/api/workspaces/${workspaceId}/projects`, { name });
  const apiKey = await post(`/api/projects/${project.id}/api-keys`, { name: 'sender', preset: 'full' });
  return { id: project.id, apiKey: apiKey.key };
}
