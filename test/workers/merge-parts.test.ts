import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { connectWorkerRedis, type Redis } from '../../src/stores/redis/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { mergeParts } from '../../workers/maintenance/merge-parts.ts';
import { connectQueue } from '../../workers/start-workers.ts';

let redis: Redis;
let clickhouse: ClickHouse;
/** A month of its own, which no other test has spans in. */
const month = '2031-03';
const projectId = `prj_${randomUUID()}`;

beforeAll(async () => {
  redis = connectWorkerRedis(inject('redisUrl'));
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  for (let part = 0; part < 12; part++) {
    const values = [
      { project_id: projectId, span_id: `span-00${part % 4}`, received_at: `${month}-02 00:00:${10 + part}` },
    ];
    await clickhouse.insert({
      table: 'spans',
      values,
      columns: ['project_id', 'span_id', 'received_at'],
      format: 'JSONEachRow',
    });
  }
});
afterAll(async () => {
  await clickhouse.command({
    query: 'ALTER TABLE spans DROP PARTITION ID {id:String}',
    query_params: { id: month.replace('-', '') },
  });
  redis.disconnect();
  await clickhouse.close();
});

async function counts(): Promise<{ parts: number; rows: number }> {
  const result = await clickhouse.query({
    query: `SELECT count()::Float64 AS parts, sum(rows)::Float64 AS rows FROM system.parts
            WHERE active AND table = 'spans' AND partition_id = {id:String}`,
    query_params: { id: month.replace('-', '') },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ parts: number; rows: number }>();
  if (row === undefined) throw new Error('A sum is always one row');
  return row;
}

/** With a queue of its own, in which nothing else waits. */
async function merge(queueName: string): Promise<void> {
  const ingest = connectQueue(queueName, redis);
  await mergeParts({
    slowClickhouse: clickhouse,
    ingest,
    stopping: new AbortController().signal,
    logger: createLogger({ level: 'error', name: 'test' }),
  });
}

test('many parts stay as they are while a body waits, and are merged once none does', async () => {
  const name = `ingest-of-${randomUUID()}`;
  const queue = connectQueue(name, redis);
  const before = await counts();
  expect(before.parts).toBeGreaterThan(8);
  const job = await queue.add('ingestBody', {});
  await merge(name);
  expect(await counts()).toEqual(before);
  await job.remove();
  await merge(name);
  const after = await counts();
  expect(after.parts).toBeLessThanOrEqual(8);
  // Rows of one span that were replaced go with it.
  expect(after.rows).toBeLessThan(before.rows);
});
