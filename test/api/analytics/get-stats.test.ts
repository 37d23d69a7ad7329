import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { statsSchema } from '../../../src/domains/analytics/stats.schema.ts';
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
import { listExecutions, sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

type Stats = z.infer<typeof statsSchema>;

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const hourMs = 3_600_000;
const nanos = (ms: number) => BigInt(ms) * 1_000_000n;

function stats(project: ProjectOfTest, query: Query = {}) {
  return api.call<Stats>('getStats', { params: { project_id: project.id }, key: project.key, query });
}

describe('200', () => {
  test('a project without executions has zeros, unknown rates and every bucket', async () => {
    const { body, status, text } = await stats(await newProject(api), {
      from: '2026-03-28T00:00:00Z',
      to: '2026-03-30T00:00:00Z',
      granularity: 'day',
      tz: 'Europe/Berlin',
    });
    expect(status, text).toBe(200);
    const none = {
      ...{
        executions: 0,
        spans: 0,
        errors: 0,
        error_rate: null,
        users: 0,
        sessions: 0,
        cost: '0.000000',
        unpriced_spans: 0,
      },
      latency_ms: { p50: null, p75: null, p95: null, p99: null },
    };
    expect(body).toMatchObject({
      totals: none,
      previous: none,
      change: { executions: null },
      granularity: 'day',
      tz: 'Europe/Berlin',
    });
    expect(body.series).toMatchObject([
      { bucket: '2026-03-27T23:00:00.000Z', partial: true, ...none },
      { bucket: '2026-03-28T23:00:00.000Z', partial: false },
      { bucket: '2026-03-29T22:00:00.000Z', partial: true },
    ]);
    expect(body.top).toEqual({ prompts: [], models: [], users: [], errors: [] });
    expect(Math.abs(Date.parse(body.data_as_of ?? '') - Date.now())).toBeLessThan(60_000);
  });

  test('every sum is that of the spans that were sent, after resends, failures and calls before their root', async () => {
    const project = await newProject(api);
    const { traces, window } = population();
    const spans = traces.flatMap((trace) => trace.spans);
    const replaced = spans.map((span) => ({ ...span, name: 'replaced', status: { code: 2, message: 'first try' } }));
    await sendSpans(api, project.key, replaced.toReversed());
    await sendSpans(api, project.key, spans);
    const within = (fromMs: number, toMs: number) =>
      traces.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
    const inWindow = within(Date.parse(window.from), Date.parse(window.to));
    const { errors, spans: spansInWindow } = truthOf(inWindow);
    const read = async () => (await stats(project, { ...window, granularity: 'hour' })).body;
    await until('the last version of all spans', 30_000, async () => {
      const { totals } = await read();
      return totals.spans === spansInWindow && totals.errors === errors;
    });
    // Its statements run at the same time, so those of the first whole sums may have seen less.
    const body = await read();
    expect(body.totals).toMatchObject(truthOf(inWindow));
    expect(body.previous.executions).toBe(traces.length - inWindow.length);
    expect(body.series).toHaveLength(8);
    for (const { bucket, ...found } of body.series) {
      expect(found, bucket).toMatchObject(truthOf(within(Date.parse(bucket), Date.parse(bucket) + hourMs)));
    }
    expect(body.top.models).toEqual(topModels(inWindow));
    expect(new Map(body.top.users.map(({ user_id, executions }) => [user_id, executions]))).toEqual(
      countBy(inWindow.map(({ user }) => user)),
    );
    expect(body.top.errors).toEqual(errors === 0 ? [] : [{ type: 'timeout', spans: errors, executions: errors }]);
    const { body: list } = await listExecutions(api, project, { ...window, limit: 100 });
    const listed = list.data.reduce((sum, { cost }) => sum + nanoOf(cost), 0n);
    expect(nanoOf(body.totals.cost)).toBe(listed);
  });

  test('calls that were stored before their prompt existed are in its row of the most frequent prompts', async () => {
    const project = await newProject(api);
    const call = () => aModelCall(10, 5, { attributes: { 'gen_ai.prompt.name': 'later', 'gen_ai.usage.cost': 0.5 } });
    const topAfter = (calls: number) =>
      until(`${calls} calls`, 30_000, async () => {
        const { prompts } = (await stats(project)).body.top;
        return prompts.reduce((sum, prompt) => sum + prompt.calls, 0) === calls && prompts;
      });
    await sendSpans(api, project.key, [call(), call()]);
    const row = { name: 'later', errors: 0 };
    expect(await topAfter(2)).toEqual([{ ...row, prompt_id: null, calls: 2, cost: '1.000000' }]);
    const body = { name: 'Later', slug: 'later', type: 'text', template: 'Hello' };
    const { body: prompt } = await api.call<{ id: string }>('createPrompt', {
      ...{ params: { project_id: project.id }, key: project.key, body },
    });
    await sendSpans(api, project.key, [call()]);
    expect(await topAfter(3)).toEqual([{ ...row, prompt_id: prompt.id, calls: 3, cost: '1.500000' }]);
  });

  test('the first bucket of 1970 begins with it, in a time zone where its week began before', async () => {
    const { body, status, text } = await stats(await newProject(api), {
      ...{ from: '1970-01-01T00:00:00Z', to: '1970-01-20T00:00:00Z' },
      ...{ granularity: 'week', tz: 'asia/KATHMANDU' },
    });
    expect(status, text).toBe(200);
    expect(body.tz).toBe('asia/KATHMANDU');
    expect(body.series.map(({ bucket }) => bucket)).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-04T18:30:00.000Z',
      '1970-01-11T18:30:00.000Z',
      '1970-01-18T18:30:00.000Z',
    ]);
  });

  test('the window before is compared', async () => {
    const project = await newProject(api);
    const toMs = Math.floor(Date.now() / hourMs) * hourMs;
    const at = (ms: number) => aSpan({ startUnixNano: nanos(ms), endUnixNano: nanos(ms + 10) });
    await sendSpans(api, project.key, [at(toMs - 3 * hourMs), at(toMs - hourMs), at(toMs - hourMs + 1), at(toMs - 1)]);
    const window = { from: new Date(toMs - 2 * hourMs).toISOString(), to: new Date(toMs).toISOString() };
    await until('all', 30_000, async () => (await stats(project, window)).body.totals.executions === 3);
    const { body } = await stats(project, window);
    expect(body.previous.executions).toBe(1);
    expect(body.change).toMatchObject({ executions: 2, errors: null, latency_p50_ms: 0 });
  });
});

describe('400', () => {
  test.each([
    ['an unknown granularity', { granularity: 'month' }, 'granularity'],
    ['an unknown time zone', { tz: 'Mars/Olympus' }, 'tz'],
    ['a bad time', { from: 'yesterday' }, 'from'],
    ['an empty window', { from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:00Z' }, 'from'],
    ['a window that is too long', { from: '2024-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }, 'from'],
    ['a window after 2553', { from: '2611-01-01T00:00:00Z', to: '2611-12-31T00:00:00Z' }, 'to'],
    ["the server's own time zone", { tz: 'default' }, 'tz'],
    ['a window before 1970', { from: '1969-12-31T00:00:00Z', to: '1970-01-02T00:00:00Z' }, 'from'],
    [
      'too many buckets',
      { granularity: 'minute', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
      'granularity',
    ],
  ])('%s is named', async (_what, query, path) => {
    const answer = await stats(await newProject(api), query);
    expectProblem(answer, 400, 'invalid_parameter');
    expect(answer.text).toContain(`"path":"${path}"`);
  });
});

describe('403 and 404', () => {
  test('a key needs analytics:read', async () => {
    const project = await newProject(api);
    const { key } = await newKey(api, project.id, { scopes: ['executions:read'] });
    expectProblem(await stats({ ...project, key }), 403, 'insufficient_scope');
  });

  test('the project of others does not exist', async () => {
    const [own, other] = [await newProject(api), await newProject(api)];
    expectProblem(await stats({ ...other, key: own.key }), 404, 'project_not_found');
  });
});

interface Trace {
  startMs: number;
  durationMs: number;
  failed: boolean;
  user: string;
  session: string;
  calls: { model: string; input: number; output: number; costNano: bigint | undefined }[];
  spans: SpanInput[];
}

/** Traces of an agent that repeats the sum of its calls. */
function population(): { traces: Trace[]; window: { from: string; to: string } } {
  const random = seededRandom();
  const toMs = Math.floor(Date.now() / hourMs) * hourMs;
  const traces = Array.from({ length: 60 }, () => aTrace(random, toMs - integerBetween(random, 1, 9 * hourMs)));
  return { traces, window: { from: new Date(toMs - 8 * hourMs).toISOString(), to: new Date(toMs).toISOString() } };
}

function aTrace(random: () => number, startMs: number): Trace {
  const traceId = newTraceId();
  const durationMs = integerBetween(random, 1, 900);
  const failed = random() < 0.2;
  const [user, session] = [`user-${integerBetween(random, 0, 4)}`, `session-${integerBetween(random, 0, 20)}`];
  const times = { traceId, startUnixNano: nanos(startMs), endUnixNano: nanos(startMs + durationMs) };
  const calls = Array.from({ length: integerBetween(random, 1, 3) }, (_, index) => ({
    model: index === 0 ? 'house-model' : 'other-model',
    input: integerBetween(random, 1, 5_000),
    output: integerBetween(random, 1, 500),
    costNano: random() < 0.3 ? undefined : BigInt(integerBetween(random, 1, 9_000_000)),
  }));
  const root = aSpan({
    ...times,
    name: 'agent',
    attributes: {
      ...{ 'gen_ai.operation.name': 'invoke_agent', 'user.id': user, 'session.id': session },
      'gen_ai.usage.input_tokens': BigInt(calls.reduce((sum, { input }) => sum + input, 0)),
      ...(failed ? { 'error.type': 'timeout' } : {}),
    },
    ...(failed ? { status: { code: 2, message: 'too late' } } : {}),
  });
  const children = calls.map(({ model, input, output, costNano }) =>
    aModelCall(input, output, {
      ...{ ...times, parentSpanId: root.spanId },
      attributes: {
        'gen_ai.response.model': model,
        ...(costNano === undefined ? {} : { 'gen_ai.usage.cost': Number(costNano) / 1e9 }),
      },
    }),
  );
  return { startMs, durationMs, failed, user, session, calls, spans: [root, ...children] };
}

function truthOf(traces: readonly Trace[]) {
  const calls = traces.flatMap((trace) => trace.calls);
  const sum = (read: (call: Trace['calls'][number]) => number) => calls.reduce((total, call) => total + read(call), 0);
  const cost = calls.reduce((total, { costNano }) => total + (costNano ?? 0n), 0n);
  const errors = traces.filter(({ failed }) => failed).length;
  const known = calls.some(({ costNano }) => costNano !== undefined) || calls.length === 0;
  const sorted = traces.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  return {
    executions: traces.length,
    spans: traces.length + calls.length,
    errors,
    error_rate: traces.length === 0 ? null : errors / traces.length,
    users: new Set(traces.map(({ user }) => user)).size,
    sessions: new Set(traces.map(({ session }) => session)).size,
    usage: { input_tokens: sum(({ input }) => input), output_tokens: sum(({ output }) => output) },
    cost: known ? usdOf(cost) : null,
    unpriced_spans: calls.filter(({ costNano }) => costNano === undefined).length,
    latency_ms: { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) },
  };
}

function topModels(traces: readonly Trace[]) {
  const models = new Map<string, { calls: number; tokens: number; cost: bigint }>();
  for (const { model, input, output, costNano } of traces.flatMap((trace) => trace.calls)) {
    const { calls, tokens, cost } = models.get(model) ?? { calls: 0, tokens: 0, cost: 0n };
    models.set(model, { calls: calls + 1, tokens: tokens + input + output, cost: cost + (costNano ?? 0n) });
  }
  return [...models]
    .toSorted(([a, { calls: left }], [b, { calls: right }]) => right - left || (a < b ? -1 : 1))
    .map(([model, { calls, tokens, cost }]) => ({
      ...{ model, provider: 'openai', calls, errors: 0, total_tokens: tokens, cost: usdOf(cost) },
    }));
}

function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
