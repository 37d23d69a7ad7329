import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { getBudget, pricedCall } from '../../support/budgets.ts';
import { type ClickHouseProxy, startClickHouseProxy } from '../../support/clickhouse-proxy.ts';
import { sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let proxy: ClickHouseProxy;
let api: TestApi;
let project: ProjectOfTest;
let traceId: string;
beforeAll(async () => {
  proxy = await startClickHouseProxy(inject('serviceClickhouseUrl'));
  api = await startApi({ clickhouseUrl: proxy.url });
  project = await newProject(api);
  const spans = [pricedCall(1_000_000n), pricedCall(2_000_000n)];
  traceId = spans[0]?.traceId ?? '';
  await sendSpans(api, project.key, spans);
  await until('the spend', 30_000, async () => (await getBudget(api, project)).body.spend === '0.003000');
});
afterAll(async () => {
  await api.close();
  await proxy.close();
});
beforeEach(() => proxy.cutAnswersOver(Number.POSITIVE_INFINITY));

test.each(['listExecutions', 'getExecution', 'getTimeline', 'getStats', 'getBudget'])(
  '%s answers 503, and no part of the data, when a proxy ends the answer of ClickHouse within a row',
  async (operationId) => {
    const call = () =>
      api.call(operationId, { params: { project_id: project.id, trace_id: traceId }, key: project.key });
    const whole = await call();
    expect(whole.status, whole.text).toBe(200);
    const cutBefore = proxy.cutAnswers();
    proxy.cutAnswersOver(20); // The answer to a probe is shorter.
    const answer = await call();
    expectProblem(answer, 503, 'clickhouse_unavailable');
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(proxy.cutAnswers()).toBeGreaterThan(cutBefore);
    proxy.cutAnswersOver(Number.POSITIVE_INFINITY);
    expect((await call()).status).toBe(200);
  },
);
