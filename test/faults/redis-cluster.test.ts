import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisCluster, startRedisCluster } from '../support/cluster/redis-cluster.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

const awayMs = 3_000;
const drainMs = 60_000;

describe('a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster;
  let stack: Stack;
  beforeAll(async () => {
    cluster = await startRedisCluster(3);
    stack = await startStack({ redisCluster: cluster });
  });
  afterAll(async () => {
    await stack?.stop();
    await cluster?.stop();
  });

  it('whose node with the bodies is killed under load: nothing acknowledged is lost, and nothing is there twice', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('node away');
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    const queue = async () => {
      const response = await fetch(`${stack.apiUrl}/api/health`);
      const { checks } = (await response.json()) as { checks: { queue: { status: string } } };
      return checks.queue.status;
    };
    await until('bodies are stored', 30_000, async () => load.log.acknowledged.size > 100);
    const node = await cluster.nodeOf('{ingest}');
    await node.kill();
    await until('health says that bodies are refused', 10_000, async () => (await queue()) === 'down');
    await delay(awayMs);
    await node.start();
    await until('bodies are accepted again', 20_000, async () => (await queue()) !== 'down');
    const log = await load.finish();
    const drainedMs = await stack.untilIdle(drainMs);
    expect(log.retried.size).toBeGreaterThan(0);
    await expectExactlyOnce(stack, project, log);
    console.log(`A node away ${awayMs} ms: ${log.acknowledged.size} spans, drained in ${drainedMs} ms`);
  });
});
