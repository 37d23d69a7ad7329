import { Cluster } from 'ioredis';
import type { Redis } from './client.ts';

const keysPerScan = 1_000;

/**
 * Yields the keys that match, of every node, in groups. A key that is written meanwhile may be
 * missed or come twice.
 * @throws the error of Redis
 */
export async function* scanKeys(redis: Redis, scan: { match: string; type?: string }): AsyncGenerator<string[]> {
  const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
  for (const node of nodes) yield* node.scanStream({ ...scan, count: keysPerScan }) as AsyncIterable<string[]>;
}
