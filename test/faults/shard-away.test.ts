import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/cli/migrate.ts';
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { TopologyError } from '../../src/stores/clickhouse/require-topology.ts';
import { readRows } from '../../src/stores/clickhouse/statements.ts';
import {
  type ClickHouseCluster,
  canStartCluster,
  startClickHouseCluster,
} from '../support/cluster/clickhouse-cluster.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { startLoad } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { createWorkload } from '../support/workload.ts';

const awayMs = 3_000;
const drainMs = 60_000;

describe.skipIf(!canStartCluster())('two shards of ClickHouse', () => {
  let cluster: ClickHouseCluster;
  let stack: Stack;
  beforeAll(async () => {
    cluster = await startClickHouseCluster(2);
    stack = await startStack({ cluster });
  });
  afterAll(async () => {
    await stack?.stop();
    await cluster?.stop();
  });

  it('of which one is killed under load: every POST is 200, lists say 503, and all is readable afterwards', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const project = await stack.createProject('shard away');
    const load = startLoad({ apiUrl: stack.apiUrl, project, random, next: createWorkload(random).next });
    await until('both shards have traces', 30_000, async () =>
      (await tracesByShard(project)).every((ids) => ids.length > 5),
    );
    const [[here = ''] = [], [away = ''] = []] = await tracesByShard(project);
    await cluster.shards[1]?.kill();
    await until('a list says 503', 10_000, async () => (await read(project)) === 503);
    expect([await read(project, here), await read(project, away)]).toEqual([200, 503]);
    await delay(awayMs);
    await cluster.shards[1]?.start();
    const log = await load.finish();
    const drainedMs = await stack.untilIdle(drainMs);
    expect(Object.fromEntries(log.retried)).toEqual({});
    expect(await quarantined()).toEqual([]);
    await expectExactlyOnce(stack, project, log);
    const traces = await tracesByShard(project);
    expect(traces.every((ids) => ids.length > 0)).toBe(true);
    const places = traces.map((ids) => new Set(ids.map((id) => crc32(Buffer.from(id, 'hex')) % 2)));
    expect(places).toEqual([new Set([0]), new Set([1])]);
    console.log(`A shard away ${awayMs} ms: ${log.acknowledged.size} spans, drained in ${drainedMs} ms`);
  });

  it.each<[{ name?: string; url?: string }, RegExp]>([
    [
      { name: 'elsewhere' },
      /^remote_servers of .+ has 0 shards for the cluster elsewhere, and CLICKHOUSE_SHARD_URLS names 2\. /,
    ],
    [
      { url: '/default' },
      /^CLICKHOUSE_URL and CLICKHOUSE_SHARD_URLS name the same database, default\. Name another one/,
    ],
  ])('are not set up as %j says: the migrations refuse to continue and say what to change', async (wrong, why) => {
    const clickhouseUrl = new URL(wrong.url ?? '', cluster.url).href;
    const databaseUrl = stack.engines.postgres.url;
    const migrated = migrate({ databaseUrl, clickhouseUrl, cluster: { ...cluster, ...wrong } });
    await expect(migrated).rejects.toThrow(why);
    await expect(migrated).rejects.toBeInstanceOf(TopologyError);
  });

  /** Returns the status of a list, or of the read of one execution. */
  async function read(project: Project, traceId = ''): Promise<number> {
    const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/executions/${traceId}`, {
      headers: { 'X-API-Key': project.apiKey },
    });
    await response.arrayBuffer();
    return response.status;
  }

  async function quarantined(): Promise<unknown[]> {
    const response = await fetch(`${stack.apiUrl}/api/quarantine`, { headers: { 'X-Admin-Key': stack.adminKey } });
    const { data } = (await response.json()) as { data: unknown[] };
    return data;
  }

  /** Every trace is whole on its shard. */
  async function tracesByShard(project: Project): Promise<string[][]> {
    const clients = cluster.shardUrls.map((url) => connectClickHouse(url));
    const found = await Promise.all(
      clients.map((client) =>
        readRows<{ id: string }>(client, {
          query: 'SELECT DISTINCT lower(hex(trace_id)) AS id FROM spans WHERE project_id = {projectId:String}',
          query_params: { projectId: project.id },
          format: 'JSONEachRow',
        }),
      ),
    );
    await Promise.all(clients.map((client) => client.close()));
    return found.map((rows) => rows.map(({ id }) => id));
  }
});
