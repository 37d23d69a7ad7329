import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import type { promptAnalyticsSchema } from '../../src/domains/analytics/prompt-analytics.schema.ts';
import type { statsSchema } from '../../src/domains/analytics/stats.schema.ts';
import type { LightSpan } from '../../src/domains/spans/index.ts';
import { summarizeExecution } from '../../src/domains/summaries/index.ts';
import { nanoOf, usdOf } from '../support/analytics.ts';
import { newProject, type ProjectOfTest, type Query, startApi, type TestApi } from '../support/api.ts';
import { aBudget, getBudget, putBudget } from '../support/budgets.ts';
import { connectExecutions, noUsage } from '../support/executions.ts';
import { lightSpan } from '../support/light-span.ts';
import { newTraceId, nowNano } from '../support/spans.ts';
import { storedSpanId, storeSpans } from '../support/stored-spans.ts';
import { getExecution, listExecutions } from '../support/traces.ts';

/** Traces of more than 5,000 calls, which are merged for stats and budgets. */
const [traces, spansPerTrace] = [100, 10_000];
/** Later than the engine's clock, so that what a reconciler finds out meanwhile does not replace it. */
const version = 2n ** 63n;
const models = ['house-model', 'other-model', 'third-model'] as const;

let api: TestApi;
let store: ReturnType<typeof connectExecutions>;
beforeAll(async () => {
  api = await startApi();
  store = connectExecutions(api);
});
afterAll(async () => {
  await store.close();
  await api.close();
});

// A linear congruential generator (Knuth, MMIX), whose upper 40 bits are a cost of up to 1,100 USD. SQL and BigInt
// compute the same costs. Their sum has 59 bits, which a double cannot hold.
const [factor, added] = [6_364_136_223_846_793_005n, 1_442_695_040_888_963_407n];
const costOf = (index: number) => BigInt.asUintN(64, BigInt(index) * factor + added) >> 24n;
const costSql = (index: string) =>
  `toInt64(bitShiftRight(toUInt64(${index}) * toUInt64(${factor}) + toUInt64(${added}), 24))`;
/** The first span of a trace is no call, and one of seven calls has no known cost. */
const isCall = (span: number) => span > 0;
const isPriced = (span: number) => isCall(span) && span % 7 !== 0;

/** What each model of each trace costs, in nano-USD. */
function truth(): bigint[][] {
  return Array.from({ length: traces }, (_, trace) => {
    const costs = models.map(() => 0n);
    for (let span = 0; span < spansPerTrace; span++) {
      if (isPriced(span)) costs[span % 3] = (costs[span % 3] ?? 0n) + costOf(trace * spansPerTrace + span);
    }
    return costs;
  });
}

const sumOf = (costs: readonly bigint[]) => costs.reduce((sum, cost) => sum + cost, 0n);

/** The spans of a trace as a worker has them: an agent that repeats the cost of its calls, and the calls. */
function spansOf(promptId: string, traceId: string, trace: number, cost: bigint): LightSpan[] {
  const usage = { ...noUsage, inputTokens: 3, totalTokens: 3 };
  const prompt = { id: promptId, name: '', version: 1, rawVersion: '1', source: 'self', key: '' };
  const [startUnixNano, endUnixNano] = [nowNano(-60_000), nowNano(-59_000)];
  const times = { startUnixNano, endUnixNano, receivedAtMs: Date.now() };
  const root = lightSpan({ ...times, traceId, spanId: storedSpanId(0), kind: 'agent', usage, costNanoUsd: cost });
  const call = { ...root, parentSpanId: root.spanId, kind: 'llm', prompt };
  const spans = [root];
  for (let span = 1; span < spansPerTrace; span++) {
    const costNanoUsd = isPriced(span) ? costOf(trace * spansPerTrace + span) : null;
    spans.push({ ...call, spanId: storedSpanId(span), model: models[span % 3] ?? '', costNanoUsd });
  }
  return spans;
}

/** Stores the spans of a trace with the same costs. A tenth of them was received before, with other costs. */
async function storeTrace(project: ProjectOfTest, traceId: string, trace: number, cost: bigint): Promise<void> {
  const priced = 'number % 7 != 0';
  const columns = {
    ...{ kind: "if(number = 0, 'agent', 'llm')", has_usage: 'true', input_tokens: '3', total_tokens: '3', input: "''" },
    model: `if(number > 0, [${models.map((model) => `'${model}'`).join()}][number % 3 + 1], '')`,
    cost_source: `if(number = 0 OR ${priced}, 'reported', 'none')`,
  };
  const costs = `if(number = 0, ${cost}, if(${priced}, ${costSql(`number + ${trace * spansPerTrace}`)}, 0))`;
  const before = { ...columns, received_at: 'now64(3) - 60', cost_nano_usd: `${costs} + if(${priced}, 1000000, 0)` };
  await storeSpans(store.clickhouse, project, { traceId, count: spansPerTrace / 10, columns: before });
  const last = { ...columns, cost_nano_usd: costs };
  await storeSpans(store.clickhouse, project, { traceId, count: spansPerTrace, columns: last });
}

test('list, details, stats, analytics and budget say the same sum of 1,000,000 spans, exact to the nano-dollar', async () => {
  const project = await newProject(api);
  const at = { params: { project_id: project.id }, key: project.key };
  const body = { name: 'Support', type: 'text', template: 'Hello' };
  const { body: prompt } = await api.call<{ id: string }>('createPrompt', { ...at, body });
  const traceIds = Array.from({ length: traces }, newTraceId);
  const costs = truth();
  const total = sumOf(costs.flat());
  expect(total).toBeGreaterThan(2n ** 58n);
  for (const [trace, traceId] of traceIds.entries()) {
    const spans = spansOf(prompt.id, traceId, trace, sumOf(costs[trace] ?? []));
    await store.store([summarizeExecution(project.id, spans, version)]);
  }

  const { body: list } = await listExecutions(api, project, { limit: 100 });
  const costsOfTraces = new Map(traceIds.map((traceId, trace) => [traceId, sumOf(costs[trace] ?? [])]));
  expect(new Map(list.data.map(({ trace_id, cost }) => [trace_id, nanoOf(cost)]))).toEqual(costsOfTraces);

  // A detail sums up the spans themselves.
  for (const trace of [0, traces - 1]) {
    const traceId = traceIds[trace] ?? '';
    await storeTrace(project, traceId, trace, sumOf(costs[trace] ?? []));
    const { body: detail } = await getExecution(api, project, traceId, { spans: 'none' });
    expect(detail).toMatchObject({ span_count: spansPerTrace, cost: usdOf(sumOf(costs[trace] ?? [])) });
    expect(detail.cost_breakdown.total).toBe(detail.cost);
    const byModel = new Map(detail.cost_breakdown.by_model.map(({ model, cost }) => [model, nanoOf(cost)]));
    expect(models.map((model) => byModel.get(model))).toEqual(costs[trace]);
  }

  const window: Query = { from: new Date(Date.now() - 3_600_000).toISOString() };
  const ofModels = models.map((_, index) => sumOf(costs.map((each) => each[index] ?? 0n)));
  const stats = (await api.call<z.infer<typeof statsSchema>>('getStats', { ...at, query: window })).body;
  expect(stats.totals).toMatchObject({ executions: traces, spans: traces * spansPerTrace, cost: usdOf(total) });
  expect(stats.series.reduce((sum, { cost }) => sum + nanoOf(cost), 0n)).toBe(total);
  const top = new Map(stats.top.models.map(({ model, cost }) => [model, nanoOf(cost)]));
  expect(models.map((model) => top.get(model))).toEqual(ofModels);

  const analytics = await api.call<z.infer<typeof promptAnalyticsSchema>>('getPromptAnalytics', {
    ...{ ...at, params: { ...at.params, prompt_id: prompt.id }, query: { ...window, group_by: 'model' } },
  });
  expect(analytics.body.totals).toMatchObject({
    executions: traces * (spansPerTrace - 1),
    cost: { total: usdOf(total) },
  });
  const groups = new Map(analytics.body.groups.map(({ key, cost }) => [key, nanoOf(cost.total)]));
  expect(models.map((model) => groups.get(model))).toEqual(ofModels);

  const scopes = models.map((value) => ({ by: 'model', value, amount: '1' }));
  await putBudget(api, project, { ...aBudget, amount: '999999999', period: 'total', scopes });
  const budget = (await getBudget(api, project)).body;
  expect([budget.spend, ...budget.scopes.map(({ spend }) => spend)]).toEqual([total, ...ofModels].map(usdOf));
  expect(nanoOf(budget.remaining)).toBe(999_999_999n * 1_000_000_000n - total);
  const unpriced =
    traces * Array.from({ length: spansPerTrace }).filter((_, span) => isCall(span) && !isPriced(span)).length;
  expect(budget.unpriced.spans).toBe(unpriced);
  expect(stats.totals.unpriced_spans).toBe(unpriced);
}, 180_000);
