import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { getQuota, limitedProject, override } from '../support/limits.ts';
import { aSpan } from '../support/spans.ts';
import { listExecutions, sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

const clickhouse = connectClickHouse(inject('clickhouseUrl'));
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

async function retentionDays(traceId: string): Promise<number | undefined> {
  const result = await clickhouse.query({
    query: 'SELECT retention_days FROM spans FINAL WHERE trace_id = unhex({traceId: String})',
    query_params: { traceId },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ retention_days: number }>();
  return row?.retention_days;
}

test('a span keeps the retention of the plan in force at its receipt', async () => {
  const project = await newProject(api, 'pro');
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  await untilStored(api, project, span.traceId);
  expect(await retentionDays(span.traceId)).toBe(90);
});

test('a span keeps the override in force at its receipt, whatever is changed later', async () => {
  const project = await limitedProject(api, { retention_days: 7 }, 'free');
  const before = aSpan();
  await sendSpans(api, project.key, [before]);
  await untilStored(api, project, before.traceId);
  await override(api, project, { retention_days: 45 });
  const after = await until('the change', 30_000, async () => {
    const span = aSpan();
    await sendSpans(api, project.key, [span]);
    await untilStored(api, project, span.traceId);
    return (await retentionDays(span.traceId)) === 45;
  });
  expect(after).toBe(true);
  expect(await retentionDays(before.traceId)).toBe(7);
});

test.each([0, 1, 27_999, 28_000])('a span that is kept for %i days is readable now', async (days) => {
  const project = await limitedProject(api, { retention_days: days });
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  await untilStored(api, project, span.traceId);
  expect(await retentionDays(span.traceId)).toBe(days);
});

test('a retention of 36,500 days, which an earlier version took, keeps forever', async () => {
  const project = await newProject(api);
  const plan_overrides = JSON.stringify({ retention_days: 36_500 });
  await api.postgres('workspaces').where({ id: project.workspaceId }).update({ plan_overrides });
  await until('it is in force', 10_000, async () => (await getQuota(api, project)).retention_days === null);
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  await untilStored(api, project, span.traceId);
  expect(await retentionDays(span.traceId)).toBe(0);
});

test.each([28_001, 30_000, 36_500, 65_535])('a row that was stored with %i days stays', async (days) => {
  const project = await newProject(api);
  const span = aSpan();
  await sendSpans(api, project.key, [span]);
  // Its execution is stored a moment after its spans.
  await until('it is listed', 20_000, async () => (await listExecutions(api, project, {})).body.data.length > 0);
  for (const table of ['spans', 'executions', 'execution_versions', 'execution_facts']) {
    const query_params = { days, traceId: span.traceId };
    const query = `INSERT INTO ${table} SELECT * REPLACE ({days: UInt16} AS retention_days, {other: String} AS project_id)
      FROM ${table} WHERE trace_id = unhex({traceId: String}) LIMIT 1`;
    const other = `other ${project.id}`;
    await clickhouse.command({ query, query_params: { ...query_params, other } });
    const count = `SELECT count() > 0 AS kept FROM ${table} WHERE trace_id = unhex({traceId: String}) AND project_id = {other: String}`;
    const result = await clickhouse.query({
      query: count,
      query_params: { ...query_params, other },
      format: 'JSONEachRow',
    });
    expect(await result.json(), table).toEqual([{ kept: 1 }]);
  }
});

test('every table with a retention counts its end so that it stops at the last DateTime', async () => {
  const shard = connectClickHouse(inject('shardUrls')[0] ?? '');
  const result = await shard.query({
    query: `SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
      AND name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'retention_days')`,
    format: 'JSONEachRow',
  });
  const tables = await result.json<{ name: string; engine_full: string }>();
  await shard.close();
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['spans', 'executions', 'execution_versions', 'execution_facts']),
  );
  for (const { name, engine_full: engine } of tables) {
    expect(engine, name).toMatch(/TTL toDateTime\(least\(.*4294967295\)\) WHERE .*retention_days <= 28000/s);
  }
});
