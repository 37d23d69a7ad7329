import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { batchKinds } from '../../src/domains/ingestion/store/create-storing.ts';
import { storeBatch } from '../../src/domains/ingestion/store/store-batch.ts';
import { newId } from '../../src/lib/ids.ts';
import { LogProjects } from '../../src/queue/log-projects.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { encodedBody } from '../support/encoded-body.ts';
import { ownRedisUrl } from '../support/own-redis.ts';
import { aSpan } from '../support/spans.ts';

let clickhouse: ClickHouse;
let redis: Redis;
beforeAll(() => {
  clickhouse = connectClickHouse(inject('clickhouseUrl'), { requestTimeoutMs: 120_000 });
  // A database that no worker looks into.
  redis = connectWorkerRedis(ownRedisUrl(8));
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
});

test('a batch of 150,000 traces of one span each is stored, every trace with its execution', {
  timeout: 240_000,
}, async () => {
  const of = { projectId: newId('prj'), workspaceId: newId('wsp') };
  const body = () =>
    encodedBody(
      Array.from({ length: 10_000 }, () => aSpan()),
      of,
    );
  const entries = [];
  for (let n = 0; n < 15; n++) entries.push(await body());
  const logger = createLogger({ level: 'warn', name: 'test' });
  const { signal } = new AbortController();
  expect(
    (
      await storeBatch(
        {
          clickhouse,
          logger,
          kind: batchKinds({ clickhouse, redis, logProjects: new LogProjects(redis), logger }).traces,
          stopping: signal,
        },
        entries,
      )
    ).size,
  ).toBe(0);
  const [row] = await allRows<{ traces: string; spans: string }>(
    clickhouse,
    `SELECT uniqExact(trace_id) AS traces, sum(span_count) AS spans FROM executions WHERE project_id = '${of.projectId}'`,
  );
  expect(row).toEqual({ traces: '150000', spans: '150000' });
});
