import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../dev/ports.ts';
import { type Child, describeExit, spawnChild } from '../../../dev/process/child.ts';
import { lastLines } from '../../../dev/process/log-file.ts';
import { startReaper } from '../../../dev/process/reaper.ts';
import type { Cluster } from '../../../src/stores/clickhouse/distribute-tables.ts';
import { until } from '../until.ts';
import { type FinProxy, startFinProxy } from './fin-proxy.ts';

export interface Shard {
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, with the same ports and data. */
  start(): Promise<void>;
}

export interface ClickHouseCluster extends Cluster {
  /** The database of the `Distributed` tables, on the first shard. */
  url: string;
  shards: readonly Shard[];
  stop(): Promise<void>;
}

const name = 'test_cluster';
const program = fileURLToPath(new URL('clickhouse_server.py', import.meta.url));
const readyMsMax = 60_000;

/** Whether this machine can start such servers: the library is for Linux on x64, and `python3` loads it. */
export function canStartCluster(): boolean {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false;
  return spawnSync('python3', ['-c', 'import ctypes']).status === 0;
}

/**
 * Starts ClickHouse servers out of the library of chDB, each with one shard of a cluster. They speak to each other
 * over TCP, as separate machines do. Needs `python3`, which loads the library.
 */
export async function startClickHouseCluster(shardCount: number): Promise<ClickHouseCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-cluster-'));
  const reaper = startReaper(directory);
  const servers: Server[] = [];
  for (let index = 0; index < shardCount; index++) servers.push(await prepare(join(directory, `shard${index}`)));
  for (const server of servers) writeFileSync(server.configFile, configOf(server, servers));
  const running = new Map<Server, Child>();
  async function start(server: Server): Promise<void> {
    const child = await spawnServer(server);
    running.set(server, child);
    reaper.watch(child);
    await untilReady(server, child);
  }
  await Promise.all(servers.map(start));
  const [first] = servers;
  if (first === undefined) throw new Error('A cluster has at least one shard');
  return {
    url: `http://127.0.0.1:${first.http.port}/all_shards`,
    name,
    shardUrls: servers.map((server) => `http://127.0.0.1:${server.http.port}/default`),
    shards: servers.map((server) => ({
      kill: async () => running.get(server)?.stop('SIGKILL', 0),
      start: () => start(server),
    })),
    async stop() {
      await Promise.all([...running.values()].map((child) => child.stop('SIGKILL', 0)));
      await Promise.all(servers.flatMap(({ http, tcp }) => [http.close(), tcp.close()]));
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Server {
  directory: string;
  configFile: string;
  /** Ports of the server itself. */
  ports: { http: number; tcp: number };
  /** What clients and other shards connect to. */
  http: FinProxy;
  tcp: FinProxy;
}

async function prepare(directory: string): Promise<Server> {
  mkdirSync(directory, { recursive: true });
  const ports = { http: await freePort(), tcp: await freePort() };
  const [http, tcp] = [await startFinProxy(ports.http), await startFinProxy(ports.tcp)];
  return { directory, configFile: join(directory, 'config.xml'), ports, http, tcp };
}

/** A server finds itself at its own port, so it counts as local. */
function configOf(server: Server, servers: readonly Server[]): string {
  const shard = (port: number) =>
    `<shard><internal_replication>true</internal_replication>` +
    `<replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`;
  const shards = servers.map((each) => shard(each === server ? each.ports.tcp : each.tcp.port));
  return `<clickhouse>
  <tcp_port>${server.ports.tcp}</tcp_port>
  <http_port>${server.ports.http}</http_port>
  <listen_host>127.0.0.1</listen_host>
  <remote_servers><${name}>${shards.join('')}</${name}></remote_servers>
</clickhouse>
`;
}

/** Answers as long as its only statement runs. */
const serve = `SYSTEM START LISTEN QUERIES ALL;
SELECT sleepEachRow(1) FROM numbers(86400) SETTINGS max_block_size = 1, max_execution_time = 0 FORMAT Null`;

function spawnServer({ directory, configFile, ports }: Server): Promise<Child> {
  const library = createRequire(import.meta.url).resolve('@chdb/lib-linux-x64-gnu/libchdb.so');
  return spawnChild({
    command: 'python3',
    args: [
      ...[program, library, `--config-file=${configFile}`, `--path=${join(directory, 'data')}`],
      ...[`--tcp_port=${ports.tcp}`, `--http_port=${ports.http}`, '--listen_host=127.0.0.1'],
      ...['--multiquery', `--query=${serve}`],
    ],
    cwd: directory,
    logFile: join(directory, 'server.log'),
    env: process.env,
  });
}

async function untilReady({ directory, ports }: Server, child: Child): Promise<void> {
  let ended: string | undefined;
  void child.exited.then((exit) => {
    ended = describeExit(exit);
  });
  await until('ClickHouse answers', readyMsMax, async () => {
    if (ended !== undefined) throw new Error(`It ended (${ended}):\n${lastLines(join(directory, 'server.log'), 20)}`);
    const answer = await fetch(`http://127.0.0.1:${ports.http}/ping`).catch(() => undefined);
    return answer?.ok === true;
  });
}
