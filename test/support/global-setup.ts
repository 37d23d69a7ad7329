import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { STATEMENT_LOG_VARIABLE } from '../../dev/clickhouse/note-statement.ts';
import { startThrowawayEngines } from '../../dev/engines.ts';
import { describeExit } from '../../dev/process/child.ts';
import { lastLines } from '../../dev/process/log-file.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import { serviceUrlOf } from '../../dev/service-url.ts';
import { migrate } from '../../src/cli/migrate.ts';
import { clusterUrl } from '../../src/lib/cluster-settings.ts';
import type { ClickHouseCluster } from './cluster/clickhouse-cluster.ts';
import { describeBreaches, judge } from './statements/judge.ts';
import { clickhouseStatements, hearStatements, postgresStatements } from './statements/log.ts';
import { type EngineUrls, randomSecret, spawnWorker } from './worker-process.ts';

declare module 'vitest' {
  export interface ProvidedContext extends EngineUrls {
    /** URLs of the product. test/support/statements records their statements. The other URLs are for the tests. */
    serviceDatabaseUrl: string;
    serviceClickhouseUrl: string;
    /** The servers with the tables of ClickHouse. */
    shardUrls: readonly string[];
    /** See own-redis.ts. */
    ownRedisUrls: readonly string[];
  }
}

export interface Stack extends EngineUrls {
  serviceDatabaseUrl: string;
  serviceClickhouseUrl: string;
  shardUrls: readonly string[];
  ownRedisUrls: readonly string[];
  stop(): Promise<void>;
}

interface SharedStack {
  started: Promise<Stack>;
  users: number;
}

// vitest loads this file once per project, each time as a separate module in the same process.
const holder: { promptlaneTestStack?: SharedStack } & typeof globalThis = globalThis;

/** Starts one set of migrated engines and one worker for all projects of a run. The last project stops them. */
export const setup = (project: TestProject) => share(project, () => startStack());

/** Gives a project the stack of the run. The first one starts it, and the last one stops it. */
export async function share(project: TestProject, start: () => Promise<Stack>): Promise<() => Promise<void>> {
  const shared = holder.promptlaneTestStack ?? { started: start(), users: 0 };
  holder.promptlaneTestStack = shared;
  shared.users += 1;
  const stack = await shared.started;
  project.provide('databaseUrl', stack.databaseUrl);
  project.provide('serviceDatabaseUrl', stack.serviceDatabaseUrl);
  project.provide('serviceClickhouseUrl', stack.serviceClickhouseUrl);
  project.provide('redisUrl', stack.redisUrl);
  project.provide('clickhouseUrl', stack.clickhouseUrl);
  project.provide('shardUrls', stack.shardUrls);
  project.provide('ownRedisUrls', stack.ownRedisUrls);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.promptlaneTestStack;
    await stack.stop();
  };
}

/** Other places of the stores. */
export interface StackPlaces {
  /** With a cluster, the engine of ClickHouse has nothing to do. */
  cluster?: ClickHouseCluster;
  /** What the product connects to instead of Redis, and further ones that the tests have for themselves. */
  redis?: { url: string; ownUrls: readonly string[]; stop(): Promise<void> };
  /** Starts what the product connects to instead of Postgres. */
  poolOf?: (serviceDatabaseUrl: string) => Promise<{ url: string; stop(): Promise<void> } | undefined>;
}

export async function startStack({ cluster, redis, poolOf }: StackPlaces = {}): Promise<Stack> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-statements-'));
  const [postgresLog, clickhouseLog] = [join(directory, 'postgres.log'), join(directory, 'clickhouse.jsonl')];
  process.env[STATEMENT_LOG_VARIABLE] = clickhouseLog;
  const engines = await startThrowawayEngines({ postgresLog });
  // A test stops the engines that it started itself.
  delete process.env[STATEMENT_LOG_VARIABLE];
  const databaseUrl = engines.postgres.url;
  const directUrl = serviceUrlOf(databaseUrl, randomSecret());
  const pool = await poolOf?.(directUrl);
  const serviceDatabaseUrl = pool?.url ?? directUrl;
  const serviceClickhouseUrl = cluster ? clusterUrl(cluster.url) : engines.clickhouse.url;
  const clickhouseUrl = serviceClickhouseUrl.replace(`//${serviceUser(serviceClickhouseUrl)}:`, '//tests:');
  const redisUrl = redis?.url ?? engines.redis.url;
  const stopEngines = () => Promise.all([engines.stop(), cluster?.stop(), redis?.stop(), pool?.stop()]);
  try {
    await migrate({
      databaseUrl,
      serviceUrl: directUrl,
      clickhouseUrl: cluster?.url ?? clickhouseUrl,
      cluster,
    });
    await hearStatements(databaseUrl, serviceUser(serviceDatabaseUrl));
    const endWorker = await startWorker({
      ...{ databaseUrl: serviceDatabaseUrl, clickhouseUrl: serviceClickhouseUrl, redisUrl },
      ...(cluster && { shardUrls: cluster.shardUrls }),
    });
    return {
      ...{ databaseUrl, clickhouseUrl, redisUrl, serviceDatabaseUrl, serviceClickhouseUrl },
      shardUrls: cluster?.shardUrls ?? [clickhouseUrl],
      ownRedisUrls: redis?.ownUrls ?? Array.from({ length: 16 }, (_, number) => new URL(`/${number}`, redisUrl).href),
      async stop() {
        await endWorker();
        await stopEngines();
        await judgeStatements(postgresLog, clickhouseLog, serviceUser(serviceClickhouseUrl));
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await stopEngines();
    throw error;
  }
}

const serviceUser = (url: string) => new URL(url).username;

/** Fails the run if a statement of the product uses a table of tenants without the id of a tenant. */
async function judgeStatements(postgresLog: string, clickhouseLog: string, user: string): Promise<void> {
  const breaches = [
    ...(await judge(postgresStatements(postgresLog))),
    ...(await judge(clickhouseStatements(clickhouseLog, user))),
  ];
  if (breaches.length === 0) return;
  console.error(describeBreaches(breaches));
  process.exitCode = 1;
}

/**
 * Resolves to a function that stops the worker. Reports a worker that ends before, because the
 * tests would only time out.
 */
async function startWorker(urls: EngineUrls): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-worker-'));
  const logFile = join(directory, 'worker.log');
  const reaper = startReaper(directory);
  const worker = await spawnWorker(urls, logFile);
  reaper.watch(worker);
  let ending = false;
  void worker.exited.then((exit) => {
    if (!ending) console.error(`The worker ended (${describeExit(exit)}):\n${lastLines(logFile, 30)}`);
  });
  return async () => {
    ending = true;
    await worker.end();
    await reaper.close();
    rmSync(directory, { recursive: true, force: true });
  };
}
