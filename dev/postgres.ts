import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './ports.ts';
import { postgresBinaries } from './postgres/binaries.ts';
import { clusterDirectory, ensureCluster, SUPERUSER } from './postgres/cluster.ts';
import { type Owner, postgresOwner } from './postgres/owner.ts';
import { type Child, describeExit, type EngineOptions, type EngineProcess, spawnChild } from './process/child.ts';
import { commandLine, identify } from './process/identity.ts';
import { lastLines } from './process/log-file.ts';

export interface PostgresOptions extends EngineOptions {
  /** False only for temporary data, because a crash of the machine can then corrupt it. */
  durable?: boolean | undefined;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
const DATABASE = 'promptlane';

/**
 * Starts a real Postgres on 127.0.0.1, creating its cluster and the database `promptlane` on first use.
 * Throws if another server uses `dataDir`. Throws with the last log lines if the server does not become ready.
 */
export async function startPostgres(options: PostgresOptions): Promise<EngineProcess> {
  const dataDir = resolve(options.dataDir);
  const owner = postgresOwner(clusterDirectory(dataDir));
  const binaries = postgresBinaries(owner);
  const cluster = ensureCluster(dataDir, binaries, owner);
  const port = options.port ?? (await freePort());
  const logFile = options.logFile ?? join(dataDir, 'postgres.log');
  const server = (database: string) => `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}`;
  const launch = async () => {
    const child = await launchServer(
      binaries.postgres,
      cluster.directory,
      port,
      owner,
      logFile,
      options.durable ?? true,
    );
    options.onSpawn?.(child);
    return child;
  };
  const child = await launchUntilReady(launch, server('postgres'), logFile);
  return {
    url: server(DATABASE),
    port,
    pid: child.pid,
    exited: child.exited,
    version: binaries.version,
    stop: () => child.stop('SIGINT', STOP_TIMEOUT_MS),
  };
}

function launchServer(
  program: string,
  directory: string,
  port: number,
  owner: Owner | undefined,
  logFile: string,
  durable: boolean,
): Promise<Child> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '64MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return spawnChild({
    command: program,
    args: ['-D', directory, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    cwd: directory,
    owner,
    logFile,
    env: { PATH: process.env.PATH, LC_ALL: 'C', PG_GRANDPARENT_PID: String(strangerInPidFile(directory)) },
  });
}

/**
 * After a crash, postmaster.pid can contain the pid of another program. Postgres ignores the pid in
 * PG_GRANDPARENT_PID (CreateLockFile in miscinit.c) and still checks that no old backend runs.
 */
function strangerInPidFile(directory: string): number {
  const pid = pidInFile(directory);
  if (pid === undefined || identify(pid) === undefined) return 0;
  const command = commandLine(pid);
  if (!command.includes('postgres')) return pid;
  throw new Error(`${directory} is in use by another Postgres, pid ${pid}: stop it (kill -INT ${pid})`);
}

function pidInFile(directory: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(directory, 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/** Backends of a killed server can run for a short time. A new server does not start until they end. */
async function launchUntilReady(launch: () => Promise<Child>, url: string, logFile: string): Promise<Child> {
  const deadlineMs = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const child = await launch();
    const waiting = new AbortController();
    const outcome = await Promise.race([child.exited, whenReady(url, deadlineMs, waiting.signal)]);
    if (outcome === 'ready') return child;
    waiting.abort();
    await child.stop('SIGINT', STOP_TIMEOUT_MS);
    const tail = lastLines(logFile, 8);
    const late = Date.now() > deadlineMs;
    if (late || outcome === 'timeout' || !tail.includes('pre-existing shared memory block')) {
      const why = outcome === 'timeout' ? `not ready after ${READY_TIMEOUT_MS} ms` : describeExit(outcome);
      throw new Error(`Postgres did not start (${why}), see ${logFile}:\n${tail}`);
    }
    await delay(200);
  }
}

/** Waits for a connection, then creates the database if it does not exist. */
async function whenReady(url: string, deadlineMs: number, given: AbortSignal): Promise<'ready' | 'timeout'> {
  while (Date.now() < deadlineMs && !given.aborted) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
      return 'ready';
    } catch {
      await delay(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return 'timeout';
}
