import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { promptAnalyticsSchema } from '../../../src/domains/analytics/prompt-analytics.schema.ts';
import type { statsSchema } from '../../../src/domains/analytics/stats.schema.ts';
import { summarizeExecution } from '../../../src/domains/summaries/index.ts';
import { usdOf } from '../../support/analytics.ts';
import { newProject, type ProjectOfTest, type Query, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions, noUsage } from '../../support/executions.ts';
import { lightSpan } from '../../support/light-span.ts';
import { integerBetween, type Random, seededRandom } from '../../support/random.ts';
import { newSpanId, newTraceId } from '../../support/spans.ts';

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

const hourMs = 3_600_000;
const hoursFrom = (first: string, count: number) =>
  Array.from({ length: count }, (_, hour) => Date.parse(first) + hour * hourMs);

/**
 * Days on which clocks change, with the starts of their days and hours in UTC, from the rules of the zones: Berlin
 * from +01:00 to +02:00 and back at 01:00 UTC; Lord Howe from +10:30 to +11:00 and back at 02:00 of its clocks.
 */
const days = [
  {
    ...{ what: '25 hours of Berlin', tz: 'Europe/Berlin', from: '2026-10-24T22:00:00Z', to: '2026-10-25T23:00:00Z' },
    hours: hoursFrom('2026-10-24T22:00:00Z', 25),
  },
  {
    ...{ what: '23 hours of Berlin', tz: 'Europe/Berlin', from: '2026-03-28T23:00:00Z', to: '2026-03-29T22:00:00Z' },
    hours: hoursFrom('2026-03-28T23:00:00Z', 23),
  },
  {
    // 01:00, 01:30 again, 02:00.
    ...{ what: '24.5 hours of Lord Howe', tz: 'Australia/Lord_Howe' },
    ...{ from: '2026-04-04T13:00:00Z', to: '2026-04-05T13:30:00Z' },
    hours: [...hoursFrom('2026-04-04T13:00:00Z', 3), ...hoursFrom('2026-04-04T15:30:00Z', 22)],
  },
  {
    // 01:00, 02:30, 03:00.
    ...{ what: '23.5 hours of Lord Howe', tz: 'Australia/Lord_Howe' },
    ...{ from: '2026-10-03T13:30:00Z', to: '2026-10-04T13:00:00Z' },
    hours: [...hoursFrom('2026-10-03T13:30:00Z', 3), ...hoursFrom('2026-10-03T16:00:00Z', 21)],
  },
] as const;
type Day = (typeof days)[number];

interface Call {
  startMs: number;
  cost: bigint;
  tokens: number;
  failed: boolean;
}

function randomCalls(random: Random, count: number, fromMs: number, toMs: number): Call[] {
  return Array.from({ length: count }, () => ({
    startMs: integerBetween(random, fromMs, toMs - 1),
    cost: BigInt(integerBetween(random, 1, 90_000_000)),
    tokens: integerBetween(random, 1, 5_000),
    failed: random() < 0.2,
  }));
}

/** Returns an execution with these calls of a prompt, as a worker stores it. */
function executionOf(project: ProjectOfTest, promptId: string, calls: readonly Call[]) {
  const traceId = newTraceId();
  const spans = calls.map(({ startMs, cost, tokens, failed }) =>
    lightSpan({
      ...{ traceId, spanId: newSpanId(), receivedAtMs: Date.now(), kind: 'llm', model: 'house-model' },
      ...{ startUnixNano: BigInt(startMs) * 1_000_000n, endUnixNano: BigInt(startMs + 100) * 1_000_000n },
      ...{ usage: { ...noUsage, inputTokens: tokens, totalTokens: tokens }, costNanoUsd: cost, costSource: 'reported' },
      status: failed ? 'error' : 'ok',
      prompt: { id: promptId, name: '', version: 1, rawVersion: '1', source: 'self', key: '' },
    }),
  );
  return summarizeExecution(project.id, spans, 1n);
}

async function newPrompt(project: ProjectOfTest): Promise<string> {
  const body = { name: 'Support', type: 'text', template: 'Hello' };
  const at = { params: { project_id: project.id }, key: project.key };
  return (await api.call<{ id: string }>('createPrompt', { ...at, body })).body.id;
}

async function seriesOf(project: ProjectOfTest, promptId: string, query: Query) {
  const at = { params: { project_id: project.id, prompt_id: promptId }, key: project.key, query };
  const analytics = await api.call<z.infer<typeof promptAnalyticsSchema>>('getPromptAnalytics', at);
  const stats = await api.call<z.infer<typeof statsSchema>>('getStats', at);
  expect([analytics.status, stats.status], analytics.text).toEqual([200, 200]);
  return { analytics: analytics.body, stats: stats.body };
}

function truthOf(calls: readonly Call[]) {
  return {
    executions: calls.length,
    errors: calls.filter(({ failed }) => failed).length,
    inputTokens: calls.reduce((sum, { tokens }) => sum + tokens, 0),
    cost: usdOf(calls.reduce((sum, { cost }) => sum + cost, 0n)),
  };
}

/** What is expected of buckets with these starts, the last of which ends at this time. */
function truthOfBuckets(calls: readonly Call[], starts: readonly number[], endMs: number) {
  return starts.map((startMs, index) => {
    const nextMs = starts[index + 1] ?? endMs;
    const own = calls.filter((call) => call.startMs >= startMs && call.startMs < nextMs);
    return { bucket: new Date(startMs).toISOString(), ...truthOf(own) };
  });
}

type Analytics = z.infer<typeof promptAnalyticsSchema>;
const ofAnalytics = ({ bucket, executions, errors, usage, cost }: Analytics['series'][number]) => ({
  ...{ bucket, executions, errors, inputTokens: usage.input_tokens, cost: cost.total ?? '0.000000' },
});
const ofStats = ({ bucket, executions, errors, usage, cost }: z.infer<typeof statsSchema>['series'][number]) => ({
  ...{ bucket, executions, errors, inputTokens: usage.input_tokens, cost: cost ?? '0.000000' },
});

describe.each(days)('a day of $what', ({ tz, from, to, hours }: Day) => {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];

  test('is one bucket between two others, each with the calls that started in it', async () => {
    const project = await newProject(api);
    const promptId = await newPrompt(project);
    const window = {
      from: new Date(fromMs - 24 * hourMs).toISOString(),
      to: new Date(toMs + 24 * hourMs).toISOString(),
    };
    const random = seededRandom();
    const calls = randomCalls(random, 60, fromMs - 24 * hourMs, toMs + 24 * hourMs);
    // Both ends of the day, and its neighbors.
    calls.push(
      ...[fromMs - 1, fromMs, toMs - 1, toMs].map((startMs) => ({ startMs, cost: 1n, tokens: 1, failed: false })),
    );
    await store.store(calls.map((call) => executionOf(project, promptId, [call])));
    const { analytics, stats } = await seriesOf(project, promptId, { ...window, tz, granularity: 'day' });
    const truth = truthOfBuckets(calls, [fromMs - 24 * hourMs, fromMs, toMs], toMs + 24 * hourMs);
    expect(analytics.series.map(ofAnalytics)).toEqual(truth);
    expect(stats.series.map(ofStats)).toEqual(truth);
    expect(analytics.totals).toMatchObject({ executions: 64, cost: { total: truthOf(calls).cost } });
  });

  test('has hours of its clocks, also for the merged calls of an execution with 6,000', async () => {
    const project = await newProject(api);
    const promptId = await newPrompt(project);
    const calls = randomCalls(seededRandom(), 6_000, fromMs, toMs);
    await store.store([executionOf(project, promptId, calls)]);
    const { analytics } = await seriesOf(project, promptId, { from, to, tz, granularity: 'hour' });
    expect(analytics.series.map(ofAnalytics)).toEqual(truthOfBuckets(calls, hours, toMs));
    expect(analytics.totals).toMatchObject({
      ...{ executions: 6_000, traces: 1, errors: truthOf(calls).errors, cost: { total: truthOf(calls).cost } },
    });
    expect(analytics.series.some(({ partial }) => partial)).toBe(false);
  });
});
