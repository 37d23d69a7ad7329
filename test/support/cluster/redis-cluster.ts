import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../dev/ports.ts';
import type { EngineProcess } from '../../../dev/process/child.ts';
import { startReaper } from '../../../dev/process/reaper.ts';
import { startRedis } from '../../../dev/redis.ts';
import { until } from '../until.ts';
import { randomSecret } from '../worker-process.ts';

export interface RedisNode {
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, with the same ports and data. */
  start(): Promise<void>;
}

export interface RedisCluster {
  url: string;
  /** Returns the node that has the keys with these braces. */
  nodeOf(slot: string): Promise<RedisNode>;
  stop(): Promise<void>;
}

const slotCount = 16_384;
const readyMsMax = 30_000;

/** Starts a Redis Cluster of masters, each with an equal share of the slots. Needs Redis 7. */
export async function startRedisCluster(size: number): Promise<RedisCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-redis-cluster-'));
  const reaper = startReaper(directory);
  const password = randomSecret();
  const nodes = await Promise.all(
    Array.from({ length: size }, (_, index) => prepareNode(join(directory, `node${index}`), { password, reaper })),
  );
  const clients = nodes.map(({ url }) => new Redis(url));
  await formCluster(clients, nodes);
  for (const client of clients) client.disconnect();
  const [first] = nodes;
  if (first === undefined) throw new Error('A cluster has at least one node');
  return {
    url: first.url.replace('redis://', 'redis+cluster://'),
    async nodeOf(slot) {
      const client = new Redis(first.url);
      const share = Math.floor((await client.cluster('KEYSLOT', slot)) / (slotCount / size));
      client.disconnect();
      return nodes[share] ?? first;
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      await reaper.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Node extends RedisNode {
  url: string;
  ports: { clients: number; bus: number };
  stop(): Promise<void>;
}

async function prepareNode(
  dataDir: string,
  { password, reaper }: { password: string; reaper: ReturnType<typeof startReaper> },
): Promise<Node> {
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'password'), password, { mode: 0o600 });
  const ports = { clients: await freePort(), bus: await freePort() };
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': String(ports.bus),
    'cluster-announce-ip': '127.0.0.1',
    'cluster-node-timeout': '2000',
  };
  const spawn = () =>
    startRedis({ dataDir, port: ports.clients, settings, onSpawn: (child) => void reaper.watch(child) });
  let running: EngineProcess = await spawn();
  return {
    url: running.url,
    ports,
    async kill() {
      process.kill(running.pid, 'SIGKILL');
      await running.exited;
    },
    async start() {
      running = await spawn();
    },
    stop: () => running.stop(),
  };
}

/** Deals out the slots, and waits until each node knows all others. */
async function formCluster(clients: readonly Redis[], nodes: readonly Node[]): Promise<void> {
  const firstSlot = (index: number) => Math.ceil((index * slotCount) / clients.length);
  for (const [index, client] of clients.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  for (const { ports } of nodes.slice(1)) {
    await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', ports.clients, ports.bus);
  }
  await until('the cluster is whole', readyMsMax, async () => {
    const infos = await Promise.all(clients.map((client) => client.cluster('INFO')));
    return infos.every((info) => info.includes('cluster_state:ok') && info.includes(`known_nodes:${clients.length}\r`));
  });
}
