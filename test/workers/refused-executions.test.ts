import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { batchKinds } from '../../src/domains/ingestion/store/create-storing.ts';
import { storeBatch } from '../../src/domains/ingestion/store/store-batch.ts';
import { startSummaryLane } from '../../src/domains/summaries/summary-lane.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { summaryProjects } from '../../src/queue/summary-list.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { countsKeys } from '../../src/stores/redis/names.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { encodedBody } from '../support/encoded-body.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { type RefusingClickHouse, startRefusingClickHouse } from '../support/refusing-clickhouse.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution, listExecutions, untilListed } from '../support/traces.ts';
import { until } from '../support/until.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const stopping = new AbortController().signal;

let api: TestApi;
let redis: Redis;
let engine: RefusingClickHouse;
let clickhouse: ClickHouse;
/** Whose executions the engine refuses. */
let refusedId: string | undefined;

beforeAll(async () => {
  api = await startApi();
  // A database that no other worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(5));
  const codeOf = (body: Buffer) => (refusedId !== undefined && body.includes(refusedId) ? 1001 : 0);
  engine = await startRefusingClickHouse(codeOf, { table: 'summaries', engineUrl: inject('clickhouseUrl') });
  clickhouse = connectClickHouse(engine.url);
});
afterAll(async () => {
  await clickhouse.close();
  await engine.close();
  redis.disconnect();
  await api.close();
});

const listedOf = async (project: ProjectOfTest) =>
  (await listExecutions(api, project)).body.data.map(({ trace_id }) => trace_id);
const countOf = async (outcome: string) => Number((await redis.hget(countsKeys.summaries, outcome)) ?? 0);

describe('a batch of four projects, of which the engine refuses the executions of one', () => {
  test('the others’ are listed with the batch, and that one’s by the list of summaries once they are taken', async () => {
    const projects = await Promise.all(Array.from({ length: 4 }, () => newProject(api)));
    const [refused, ...others] = projects as [ProjectOfTest, ...ProjectOfTest[]];
    const traceOf = new Map(projects.map((project) => [project, aSpan()]));
    const entries = await Promise.all(
      Array.from(traceOf, ([{ id, workspaceId }, span]) =>
        // As received in an hour, which no reconciler looks at before.
        encodedBody([span], { projectId: id, workspaceId, receivedAtMs: Date.now() + 3_600_000 }),
      ),
    );
    const idOf = (project: ProjectOfTest) => traceOf.get(project)?.traceId ?? expect.unreachable();

    refusedId = refused.id;
    expect(
      (
        await storeBatch(
          {
            clickhouse,
            logger,
            kind: batchKinds({ clickhouse, redis, logProjects: new LogProjects(redis), logger }).traces,
            stopping,
          },
          entries,
        )
      ).size,
    ).toBe(0);
    for (const project of others) expect(await listedOf(project)).toEqual([idOf(project)]);
    expect(await listedOf(refused)).toEqual([]);
    expect((await getExecution(api, refused, idOf(refused))).status).toBe(200);
    expect(await summaryProjects(redis)).toEqual([{ projectId: refused.id, workspaceId: refused.workspaceId }]);
    expect([await countOf('listed'), await countOf('failed')]).toEqual([1, 0]);

    const lane = startSummaryLane({
      clickhouse,
      clickhouseUrl: engine.url,
      redis,
      logProjects: new LogProjects(redis),
      logger,
    });
    try {
      await until('the list has tried in vain', 30_000, async () => (await countOf('failed')) > 0);
      expect(await listedOf(refused)).toEqual([]);
      refusedId = undefined;
      await untilListed(api, refused, idOf(refused));
      await until('it is off the list', 30_000, async () => (await summaryProjects(redis)).length === 0);
    } finally {
      await lane.close();
    }
  });
});
