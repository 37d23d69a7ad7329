import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nanoOf } from '../../support/analytics.ts';
import { expectProblem, newKey, newProject, startApi, type TestApi } from '../../support/api.ts';
import { aBudget, getBudget, pricedCall, putBudget } from '../../support/budgets.ts';
import { changeTables } from '../../support/change-tables.ts';
import { anExecution, connectExecutions, noUsage } from '../../support/executions.ts';
import { integerBetween, seededRandom } from '../../support/random.ts';
import { aModelCall, newTraceId } from '../../support/spans.ts';
import { listExecutions, sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const nanos = (ms: number) => BigInt(ms) * 1_000_000n;

describe('200', () => {
  test('without a budget, amount is null and the month is that of UTC', async () => {
    const { status, body, text } = await getBudget(api, await newProject(api));
    expect(status, text).toBe(200);
    expect(body).toMatchObject({ amount: null, remaining: null, spend: '0.000000', state: 'ok', period: 'monthly' });
    const now = new Date();
    expect(body.period_start).toBe(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString());
    expect(body.resets_at).toBe(body.period_end);
  });

  test('is answered whole to a client that has its tag, because spend changes without a new version', async () => {
    const project = await newProject(api);
    const etag = (await putBudget(api, project, aBudget)).headers.get('etag') ?? '';
    const { status, headers, body } = await getBudget(api, project, { 'If-None-Match': etag });
    expect([status, headers.get('etag'), body.spend]).toEqual([200, etag, '0.000000']);
  });

  test('the spend is that of the spans and of the list, after resends and late spans, also by scope', async () => {
    const project = await newProject(api);
    const random = seededRandom();
    const nowMs = Date.now();
    const startMs = new Date(nowMs).setUTCHours(0, 0, 0, 0);
    const sent = Array.from({ length: 60 }, () => {
      const atMs = integerBetween(random, startMs, nowMs);
      const model = random() < 0.5 ? 'house-model' : 'other-model';
      const user = `user-${integerBetween(random, 0, 2)}`;
      const cost = BigInt(integerBetween(random, 1, 90_000_000));
      const times = { traceId: newTraceId(), startUnixNano: nanos(atMs), endUnixNano: nanos(atMs + 5) };
      const span = pricedCall(cost, { ...times, model, attributes: { 'user.id': user } });
      return { cost, model, user, span };
    });
    const before = nanos(startMs - 1);
    const outside = pricedCall(7n, { startUnixNano: before, endUnixNano: before + 1n });
    const dear = sent.map(({ span }) => ({ ...span, attributes: { ...span.attributes, 'gen_ai.usage.cost': 1 } }));
    await sendSpans(api, project.key, [...dear.slice(0, 40), outside]);
    await sendSpans(
      api,
      project.key,
      sent.map(({ span }) => span),
    );
    const scopes = [
      { by: 'model', value: 'house-model', amount: '0.000000001' },
      { by: 'user', value: 'user-1', amount: '1000' },
    ];
    await putBudget(api, project, { ...aBudget, amount: '1000', period: 'daily', scopes });
    const sum = (rows: typeof sent) => rows.reduce((total, { cost }) => total + cost, 0n);
    const body = await until('the spend', 30_000, async () => {
      const { body: read } = await getBudget(api, project);
      return nanoOf(read.spend) === sum(sent) && read;
    });
    expect(body.scopes.map(({ spend }) => nanoOf(spend))).toEqual([
      sum(sent.filter(({ model }) => model === 'house-model')),
      sum(sent.filter(({ user }) => user === 'user-1')),
    ]);
    expect(body.scopes.map(({ state }) => state)).toEqual(['exceeded', 'ok']);
    expect(nanoOf(body.remaining)).toBe(1_000_000_000_000n - sum(sent));
    const { body: list } = await listExecutions(api, project, { from: body.period_start ?? '', limit: 100 });
    expect(list.data.reduce((total, { cost }) => total + nanoOf(cost), 0n)).toBe(sum(sent));
  });

  test('what retention has removed from stats still counts for a month', async () => {
    const project = await newProject(api);
    const { store, close } = connectExecutions(api);
    onTestFinished(close);
    const atMs = Date.now() - 10 * 24 * 3_600_000;
    const call = {
      ...{
        spanId: 'a'.repeat(16),
        calls: 1,
        startUnixNano: nanos(atMs),
        durationMs: 1,
        ttftMs: null,
        status: 'ok' as const,
      },
      ...{ provider: 'openai', model: 'm', counted: true, usage: noUsage, costNanoUsd: 5_000_000_000n },
      prompt: { id: '', name: '', version: 0, key: '' },
    };
    const times = { receivedAtMs: atMs, startUnixNano: nanos(atMs), endUnixNano: nanos(atMs + 1) };
    await store([anExecution(project, { ...times, retentionDays: 7, costNanoUsd: 5_000_000_000n, calls: [call] })]);
    await changeTables({ query: 'OPTIMIZE TABLE execution_facts FINAL' });
    await putBudget(api, project, { ...aBudget, amount: '1', period: 'total' });
    expect((await getBudget(api, project)).body).toMatchObject({ spend: '5.000000', state: 'exceeded' });
    const query = { from: new Date(atMs - 3_600_000).toISOString() };
    const stats = await api.call<{ totals: { executions: number } }>('getStats', {
      ...{ params: { project_id: project.id }, key: project.key, query },
    });
    expect(stats.body).toMatchObject({ totals: { executions: 0 } });
  });

  test('calls without a price are counted as unpriced', async () => {
    const project = await newProject(api);
    const attributes = { 'gen_ai.response.model': 'nobody-sells-it' };
    await sendSpans(api, project.key, [aModelCall(10, 5, { attributes })]);
    const body = await until('the call', 30_000, async () => {
      const { body: read } = await getBudget(api, project);
      return read.unpriced.spans === 1 && read;
    });
    expect(body.unpriced.tokens).toBe(15);
    expect(body.spend).toBe('0.000000');
  });
});

describe('403 and 404', () => {
  test('a key needs budgets:read', async () => {
    const project = await newProject(api);
    const { key } = await newKey(api, project.id, { scopes: ['executions:read'] });
    expectProblem(await getBudget(api, { ...project, key }), 403, 'insufficient_scope');
  });

  test('the project of others does not exist', async () => {
    const [own, other] = [await newProject(api), await newProject(api)];
    expectProblem(await getBudget(api, { ...other, key: own.key }), 404, 'project_not_found');
  });
});
