import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { limitedProject, override } from '../support/limits.ts';
import { aSpan } from '../support/spans.ts';
import { sendSpans, untilStored } from '../support/traces.ts';
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
