import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import type { promptAnalyticsSchema } from '../../../src/domains/analytics/prompt-analytics.schema.ts';
import { connectClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { nanoOf, percentile, usdOf } from '../../support/analytics.ts';
import {
  expectProblem,
  newKey,
  newProject,
  type ProjectOfTest,
  type Query,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import type { SpanInput } from '../../support/otlp-encode.ts';
import { integerBetween, seededRandom } from '../../support/random.ts';
import { aModelCall, aSpan, newTraceId } from '../../support/spans.ts';
import { storeRatedCalls } from '../../support/stored-calls.ts';
import { sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

type Analytics = z.infer<typeof promptAnalyticsSchema>;

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const hourMs = 3_600_000;
const nanos = (ms: number) => BigInt(ms) * 1_000_000n;

function analytics(project: ProjectOfTest, promptId: string, query: Query = {}) {
  const params = { project_id: project.id, prompt_id: promptId };
  return api.call<Analytics>('getPromptAnalytics', { params, key: project.key, query });
}

/** Creates a prompt with some versions, the second labeled `production` and `stable`. */
async function aPrompt(project: ProjectOfTest, versions = 3): Promise<string> {
  const at = { params: { project_id: project.id }, key: project.key };
  const { body } = await api.call<{ id: string }>('createPrompt', {
    ...at,
    body: { name: 'Support', type: 'text', template: 'Version 1 {{q}}' },
  });
  const params = { project_id: project.id, prompt_id: body.id };
  for (let version = 2; version <= versions; version++) {
    await api.call('updatePrompt', { ...at, params, body: { template: `Version ${version} {{q}}` } });
  }
  for (const label of ['production', 'stable']) {
    await api.call('putPromptLabel', { ...at, params: { ...params, label }, body: { version: 2 } });
  }
  return body.id;
}

interface Call {
  version: number;
  model: string;
  user: string;
  startMs: number;
  durationMs: number;
  ttftMs: number | undefined;
  failed: boolean;
  input: number;
  costNano: bigint | undefined;
  trace: SpanInput[];
}

function aCall(promptId: string, given: Partial<Call> & { startMs: number }): Call {
  const call = {
    ...{ version: 1, model: 'house-model', user: 'ada', durationMs: 100, ttftMs: undefined, failed: false, input: 10 },
    costNano: 1_000n as bigint | undefined,
    ...given,
  };
  const { startMs, durationMs } = call;
  const times = {
    // Ids that end with a zero byte are found as well.
    ...{
      traceId: `${newTraceId().slice(0, 30)}00`,
      startUnixNano: nanos(startMs),
      endUnixNano: nanos(startMs + durationMs),
    },
  };
  const root = aSpan({ ...times, name: 'agent', attributes: { 'user.id': call.user } });
  const span = aModelCall(call.input, 5, {
    ...{ ...times, parentSpanId: root.spanId },
    ...(call.failed ? { statusCode: 2, statusMessage: 'too late' } : {}),
    attributes: {
      ...{ 'gen_ai.response.model': call.model, 'promptlane.prompt.id': promptId },
      'gen_ai.prompt.version': BigInt(call.version),
      ...(call.costNano === undefined ? {} : { 'gen_ai.usage.cost': Number(call.costNano) / 1e9 }),
      ...(call.ttftMs === undefined ? {} : { 'gen_ai.response.time_to_first_chunk': call.ttftMs / 1_000 }),
    },
  });
  return { ...call, trace: [root, span] };
}

async function store(project: ProjectOfTest, calls: readonly Call[], promptId: string, window: Query) {
  await sendSpans(
    api,
    project.key,
    calls.flatMap(({ trace }) => trace),
  );
  const expected = truthOf(calls.filter((call) => isWithin(call, window)));
  await until('all calls', 30_000, async () => {
    const { body } = await analytics(project, promptId, window);
    return body.totals.executions === expected.executions && body.totals.errors === expected.errors;
  });
}

const isWithin = ({ startMs }: Call, { from, to }: Query) =>
  startMs >= Date.parse(String(from)) && startMs < Date.parse(String(to));

function truthOf(calls: readonly Call[]) {
  const errors = calls.filter(({ failed }) => failed).length;
  const priced = calls.flatMap(({ costNano }) => costNano ?? []);
  const cost = priced.reduce((sum, each) => sum + each, 0n);
  const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
  const durations = sorted(calls.map(({ durationMs }) => durationMs));
  const starts = sorted(calls.map(({ startMs }) => startMs));
  const count = BigInt(priced.length);
  return {
    executions: calls.length,
    traces: calls.length,
    errors,
    error_rate: calls.length === 0 ? null : errors / calls.length,
    latency_ms: {
      p50: percentile(durations, 0.5),
      p75: percentile(durations, 0.75),
      p95: percentile(durations, 0.95),
      p99: percentile(durations, 0.99),
    },
    usage: {
      input_tokens: calls.reduce((sum, { input }) => sum + input, 0),
      output_tokens: 5 * calls.length,
    },
    cost: {
      total: priced.length === 0 && calls.length > 0 ? null : usdOf(cost),
      avg: priced.length === 0 ? null : usdOf((2n * cost + count) / (2n * count)),
    },
    unpriced_spans: calls.length - priced.length,
    first_used_at: starts.length === 0 ? null : new Date(starts[0] ?? 0).toISOString(),
    last_used_at: starts.length === 0 ? null : new Date(starts.at(-1) ?? 0).toISOString(),
    unique_users: new Set(calls.map(({ user }) => user)).size,
  };
}

function population(promptId: string): { calls: Call[]; window: { from: string; to: string } } {
  const random = seededRandom();
  const toMs = Math.floor(Date.now() / hourMs) * hourMs;
  const calls = Array.from({ length: 90 }, () =>
    aCall(promptId, {
      startMs: toMs - integerBetween(random, 1, 7 * hourMs),
      version: integerBetween(random, 1, 3),
      model: random() < 0.5 ? 'house-model' : 'other-model',
      user: `user-${integerBetween(random, 0, 4)}`,
      durationMs: integerBetween(random, 1, 900),
      failed: random() < 0.2,
      input: integerBetween(random, 1, 5_000),
      costNano: random() < 0.3 ? undefined : BigInt(integerBetween(random, 1, 9_000_000)),
    }),
  );
  return { calls, window: { from: new Date(toMs - 6 * hourMs).toISOString(), to: new Date(toMs).toISOString() } };
}

describe('200', () => {
  test('a prompt without calls has zeros, unknown rates and no groups', async () => {
    const project = await newProject(api);
    const { body, status, text } = await analytics(project, await aPrompt(project), { granularity: 'day' });
    expect(status, text).toBe(200);
    expect(body).toMatchObject({
      totals: { ...truthOf([]), feedback: { count: 0, mean: null, positive_rate: null } },
      ...{ groups: [], series: [], groups_omitted: 0, feedback_truncated: false },
    });
    expect(body).not.toHaveProperty('comparison');
  });

  test('every sum is that of the calls that were sent, by version, model and label, after resends', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const { calls, window } = population(promptId);
    const replaced = calls.map(({ trace }) => trace.map((span) => ({ ...span, statusCode: 2, name: 'first' })));
    await sendSpans(api, project.key, replaced.flat().toReversed());
    await store(project, calls, promptId, window);
    const inWindow = calls.filter((call) => isWithin(call, window));

    const { body } = await analytics(project, 'support', { ...window, granularity: 'hour' });
    expect(body.totals).toMatchObject(truthOf(inWindow));
    expect(body.groups.map(({ key }) => key).toSorted()).toEqual([1, 2, 3]);
    for (const { key, ...found } of body.groups)
      expect(found, `version ${key}`).toMatchObject(truthOf(inWindow.filter(({ version }) => version === key)));
    expect(body.series).toHaveLength(3 * 6);
    for (const { key, bucket, ...found } of body.series) {
      const startMs = Date.parse(bucket);
      const own = inWindow.filter(
        (call) => call.version === key && call.startMs >= startMs && call.startMs < startMs + hourMs,
      );
      expect(found, `${bucket} ${key}`).toMatchObject(truthOf(own));
    }

    const byModel = await analytics(project, promptId, { ...window, group_by: 'model' });
    for (const { key, ...found } of byModel.body.groups)
      expect(found, String(key)).toMatchObject(truthOf(inWindow.filter(({ model }) => model === key)));

    const byLabel = await analytics(project, promptId, { ...window, group_by: 'label' });
    expect(byLabel.status, byLabel.text).toBe(200);
    expect(byLabel.body.totals).toMatchObject(truthOf(inWindow));
    const labeled = new Map(byLabel.body.groups.map(({ key, ...found }) => [key, found]));
    const versionOf = { production: 2, stable: 2, latest: 3 };
    for (const [label, version] of Object.entries(versionOf))
      expect(labeled.get(label), label).toMatchObject(truthOf(inWindow.filter((call) => call.version === version)));
    expect(labeled.get(null)).toMatchObject(truthOf(inWindow.filter(({ version }) => version === 1)));

    const byEnvironment = await analytics(project, promptId, { ...window, group_by: 'environment' });
    expect(byEnvironment.body.groups).toMatchObject([truthOf(inWindow)]);
  });

  test('the cost of calls below an agent that knows their sum is not known', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const agent = aSpan({ attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.cost': 1 } });
    const call = aSpan({
      ...{ traceId: agent.traceId, parentSpanId: agent.spanId },
      attributes: { 'gen_ai.operation.name': 'chat', 'promptlane.prompt.id': promptId },
    });
    await sendSpans(api, project.key, [agent, call]);
    const { totals } = await until('the call', 30_000, async () => {
      const { body } = await analytics(project, promptId);
      return body.totals.executions === 1 && body;
    });
    expect(totals).toMatchObject({ cost: { total: null, avg: null }, unpriced_spans: 0 });
  });

  test('calls that arrived with the text of the template only count once the prompt exists', async () => {
    const project = await newProject(api);
    const startMs = Date.now() - hourMs;
    const window = { from: new Date(startMs - hourMs).toISOString(), to: new Date(startMs + hourMs).toISOString() };
    const { trace } = aCall('', { startMs });
    const calls = trace.map((span) => {
      const {
        'promptlane.prompt.id': _,
        'gen_ai.prompt.version': __,
        ...attributes
      } = span.attributes as Record<string, string>;
      return span.parentSpanId === undefined
        ? span
        : { ...span, attributes: { ...attributes, 'llm.prompt_template.template': 'Version 1 {{q}}' } };
    });
    await sendSpans(api, project.key, calls);
    const promptId = await aPrompt(project, 2);
    for (const group_by of ['version', 'model']) {
      await until(`the call by ${group_by}`, 30_000, async () => {
        const { body } = await analytics(project, promptId, { ...window, group_by, compare: '1,2' });
        return body.totals.executions === 1 && body.groups[0]?.executions === 1;
      });
    }
  });

  test('of many groups, those with the most calls are listed and the others are counted', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const startMs = Date.now() - hourMs;
    const modelOf = (at: number) => `model-${String(at % 150).padStart(3, '0')}`;
    const calls = Array.from({ length: 155 }, (_, at) => aCall(promptId, { startMs, model: modelOf(at) }));
    const window = { from: new Date(startMs - hourMs).toISOString(), to: new Date(startMs + hourMs).toISOString() };
    await store(project, calls, promptId, window);
    const query = { ...window, group_by: 'model', granularity: 'hour', compare: '1,3' };
    const { body } = await analytics(project, promptId, query);
    expect(body.groups.map(({ key }) => key)).toEqual(Array.from({ length: 100 }, (_, at) => modelOf(at)));
    expect(body.groups.slice(4, 6).map(({ executions }) => executions)).toEqual([2, 1]);
    expect(body.groups_omitted).toBe(50);
    expect(body.totals).toMatchObject(truthOf(calls));
    const inSeries = new Set(body.series.map(({ key }) => key));
    expect(inSeries.size).toBe(100);
    expect(body.series.reduce((sum, { executions }) => sum + executions, 0)).toBe(105);
  });

  test('long models that begin the same are one group, and their keys are not repeated without end', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const startMs = Date.now() - hourMs;
    const model = (at: number, length: number) => `${at}${'\x01'.repeat(length)}`;
    const models = [model(0, 900), ...Array.from({ length: 6 }, (_, at) => model(at, 1_000))];
    const calls = models.map((each) => aCall(promptId, { startMs, model: each }));
    const window = {
      from: new Date(startMs - 15 * hourMs).toISOString(),
      to: new Date(startMs + hourMs).toISOString(),
    };
    await store(project, calls, promptId, window);
    const { body, text } = await analytics(project, promptId, { ...window, group_by: 'model', granularity: 'minute' });
    expect(body.groups.map(({ key, executions }) => [key, executions])).toEqual(
      Array.from({ length: 6 }, (_, at) => [model(at, 255), at === 0 ? 2 : 1]),
    );
    expect(new Set(body.series.map(({ key }) => key))).toEqual(new Set([model(0, 255)]));
    expect(body.series.length).toBeGreaterThanOrEqual(960);
    expect(text.length).toBeLessThan(4 * 1024 * 1024);
  });

  test('the cost of all groups together is that of the list', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const { calls, window } = population(promptId);
    await store(project, calls, promptId, window);
    const { body } = await analytics(project, promptId, window);
    const { body: list } = await api.call<{ data: { cost: string | null }[] }>('listExecutions', {
      ...{ params: { project_id: project.id }, key: project.key, query: { ...window, limit: 100 } },
    });
    const listed = list.data.reduce((sum, { cost }) => sum + nanoOf(cost), 0n);
    expect(nanoOf(body.totals.cost.total)).toBe(listed);
    expect(body.groups.reduce((sum, { cost }) => sum + nanoOf(cost.total), 0n)).toBe(listed);
  });

  test('feedback counts for the version of its call, its execution or its prompt', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const startMs = Date.now() - hourMs;
    const calls = [1, 2].map((version) => aCall(promptId, { startMs, version }));
    const window = { from: new Date(startMs - hourMs).toISOString(), to: new Date(startMs + 2 * hourMs).toISOString() };
    await store(project, calls, promptId, window);
    const [first, second] = calls.map(({ trace }) => trace[1]);
    const give = async (body: object) => {
      const { status, text } = await api.call('createFeedback', { key: project.key, body });
      expect(status, text).toBe(201);
    };
    await give({ target_type: 'execution', trace_id: first?.traceId, rating: 'up' });
    await give({ target_type: 'span', trace_id: second?.traceId, span_id: second?.spanId, rating: 'down' });
    await give({ target_type: 'span', trace_id: second?.traceId, span_id: calls[1]?.trace[0]?.spanId, rating: 'up' });
    const elsewhere = newTraceId();
    await give({ target_type: 'prompt', prompt_id: promptId, prompt_version: 2, trace_id: elsewhere, rating: 'up' });
    await give({ target_type: 'prompt', prompt_id: promptId, comment: 'no score' });
    const { body } = await analytics(project, promptId, window);
    expect(body.totals.feedback).toEqual({
      count: 4,
      mean: expect.closeTo(2 / 3),
      positive_rate: expect.closeTo(2 / 3),
    });
    const byVersion = new Map(body.groups.map(({ key, feedback }) => [key, feedback]));
    expect(byVersion.get(1)).toEqual({ count: 1, mean: 1, positive_rate: 1 });
    expect(byVersion.get(2)).toEqual({ count: 2, mean: 0.5, positive_rate: 0.5 });
  });

  test('feedback on many executions with many calls each counts for each of their versions, and for the label of its call', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const clickhouse = connectClickHouse(api.config.clickhouseUrl);
    onTestFinished(() => clickhouse.close());
    const stores = { clickhouse, postgres: api.postgres };
    // More calls than an answer of ClickHouse may have rows. The second call of each is of version 2.
    await storeRatedCalls(stores, project, { promptId, traces: 1_700, calls: 30, span: 1 });
    const feedbackBy = async (group_by: string) => {
      const { body, status, text } = await analytics(project, promptId, { group_by });
      expect(status, text).toBe(200);
      return new Map(body.groups.map(({ key, feedback }) => [key, feedback]));
    };
    const ofBoth = { count: 3_400, mean: 0.5, positive_rate: 0.5 };
    expect(await feedbackBy('version')).toEqual(
      new Map<unknown, object>([
        [1, { count: 1_700, mean: 1, positive_rate: 1 }],
        [2, ofBoth],
      ]),
    );
    expect(await feedbackBy('label')).toEqual(
      new Map<unknown, object>([
        [null, { count: 1_700, mean: 1, positive_rate: 1 }],
        ['production', ofBoth],
        ['stable', ofBoth],
      ]),
    );
  });

  test('a comparison finds a real difference, and none between versions that are alike', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    // Of samples that are alike, one in twenty seems different.
    const random = seededRandom({ always: 1 });
    const startMs = Date.now() - hourMs;
    const calls = [1, 2, 3].flatMap((version) =>
      Array.from({ length: 150 }, (_, index) =>
        aCall(promptId, {
          ...{ version, startMs: startMs + index, failed: index % 10 < (version === 3 ? 4 : 1) },
          durationMs: integerBetween(random, 100, 200) * (version === 3 ? 2 : 1),
          costNano: BigInt(integerBetween(random, 1_000, 2_000)),
        }),
      ),
    );
    const window = { from: new Date(startMs).toISOString(), to: new Date(startMs + hourMs / 2).toISOString() };
    await store(project, calls, promptId, window);
    const alike = (await analytics(project, promptId, { ...window, compare: '1,2', group_by: 'model' })).body
      .comparison;
    expect(alike).toMatchObject({ significant: false, sample_sizes: { a: 150, b: 150 } });
    const differs = (await analytics(project, promptId, { ...window, compare: '1,3' })).body.comparison;
    expect(differs).toMatchObject({
      significant: true,
      ...{ a: { error_rate: 0.1 }, b: { error_rate: 0.4 }, deltas: { error_rate: { absolute: expect.closeTo(0.3) } } },
      tests: [
        { measure: 'error_rate', significant: true },
        { measure: 'latency_ms', significant: true },
        { measure: 'cost', significant: false },
      ],
    });
  });

  test('few calls are never significant', async () => {
    const project = await newProject(api);
    const promptId = await aPrompt(project);
    const startMs = Date.now() - hourMs;
    const calls = Array.from({ length: 20 }, (_, index) =>
      aCall(promptId, { startMs, version: 1 + (index % 2), failed: index % 2 === 0 }),
    );
    const window = { from: new Date(startMs).toISOString(), to: new Date(startMs + 1).toISOString() };
    await store(project, calls, promptId, window);
    const { body } = await analytics(project, promptId, { ...window, compare: '1,2' });
    expect(body.comparison).toMatchObject({ significant: false, sample_sizes: { a: 10, b: 10 } });
    expect(body.comparison?.tests.map(({ p_value }) => p_value)).toEqual([null, null, null]);
  });
});

describe('400', () => {
  test.each([
    ['an unknown group', { group_by: 'user' }, 'group_by'],
    ['one version', { compare: '3' }, 'compare'],
    ['a version twice', { compare: '3,3' }, 'compare'],
    ['an empty window', { from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:00Z' }, 'from'],
  ])('%s is named', async (_what, query, path) => {
    const project = await newProject(api);
    const answer = await analytics(project, await aPrompt(project, 1), query);
    expectProblem(answer, 400, 'invalid_parameter');
    expect(answer.text).toContain(`"path":"${path}"`);
  });
});

describe('403 and 404', () => {
  test('a key needs analytics:read', async () => {
    const project = await newProject(api);
    const { key } = await newKey(api, project.id, { scopes: ['prompts:read'] });
    expectProblem(await analytics({ ...project, key }, 'any'), 403, 'insufficient_scope');
  });

  test('an unknown prompt, and the prompt of others, do not exist', async () => {
    const [own, other] = [await newProject(api), await newProject(api)];
    expectProblem(await analytics(own, await aPrompt(other)), 404, 'prompt_not_found');
    expectProblem(await analytics({ ...other, key: own.key }, 'any'), 404, 'project_not_found');
  });

  test('a compared version must exist', async () => {
    const project = await newProject(api);
    expectProblem(await analytics(project, await aPrompt(project), { compare: '1,4' }), 404, 'version_not_found');
  });
});
