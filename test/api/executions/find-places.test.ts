import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type ListQuery,
  type Place,
  type PlacesQuery,
  type PresentPlace,
  searchPlaces,
} from '../../../src/domains/executions/execution-place-queries.ts';
import type { Condition } from '../../../src/domains/executions/filters/condition.ts';
import { findPlaces } from '../../../src/domains/executions/find-places.ts';
import { createLatestMoment } from '../../../src/domains/executions/latest-moment.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { aModelCall, newSpanId, newTraceId, nowNano } from '../../support/spans.ts';
import { listExecutions, sendSpans } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

const traces = 300;
/** So few rows that every condition is tested on the next executions first. */
const noneIsRare = 1;

let api: TestApi;
let project: ProjectOfTest;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
  project = await newProject(api);
  const spans = Array.from({ length: traces }, (_, index) => {
    // Some start at the same time.
    const startUnixNano = nowNano(-60_000 * Math.floor(index / 2) - 1_000);
    return aModelCall(index % 5, 1, {
      ...{ traceId: newTraceId(), spanId: newSpanId(), startUnixNano },
      endUnixNano: startUnixNano + BigInt(index % 7) * 1_000_000n,
      attributes: {
        plan: index % 2 === 0 ? 'free' : 'pro',
        rare: index % 97 === 5 ? 'yes' : 'no',
        'gen_ai.prompt': index % 3 === 0 ? 'every third word' : 'another text',
      },
    });
  });
  await sendSpans(api, project.key, spans);
  // Sent again, later and with another plan: the executions have two rows of different places.
  await untilListed(traces, () => true);
  const again = spans.slice(0, 60).map((span) => ({
    ...span,
    startUnixNano: (span.startUnixNano ?? 0n) - 3_600_000_000_000n,
    attributes: { ...span.attributes, plan: 'changed' },
  }));
  await sendSpans(api, project.key, again);
  await untilListed(60, (total) => total === 60, { 'attr.plan': 'changed' });
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

async function untilListed(count: number, isDone: (total: number) => boolean, query = {}): Promise<void> {
  await until(`${count} executions are listed`, 30_000, async () => {
    const { body } = await listExecutions(api, project, { ...query, include_total: true, limit: 1 });
    const { total = 0 } = body.page as { total?: number };
    return total >= count && isDone(total);
  });
}

const wholeWindow = () => ({ fromUnixNano: 0n, toUnixNano: nowNano(60_000) });

test('a list shows the moment before an insert of summaries that is in progress', { timeout: 20_000 }, async () => {
  const list: ListQuery = { projectId: project.id, condition: { all: [] }, sort: '-started_at', ...wholeWindow() };
  const asOfMs = async () => {
    const [place] = await searchPlaces(executions.clickhouse, { list, asOfMs: undefined, after: undefined, limit: 1 });
    return place?.asOfMs ?? Number.NaN;
  };
  const startedAtMs = Date.now();
  // It takes 2.5 s and inserts nothing.
  const inserting = executions.clickhouse.command({
    query: "INSERT INTO summaries (project_id) SELECT '' FROM numbers(5) WHERE sleepEachRow(0.5) = 1",
  });
  await until('the insert is older than a usual one', 10_000, async () => {
    const shownMs = await asOfMs();
    return Date.now() - startedAtMs > 1_000 && shownMs < startedAtMs;
  });
  await inserting;
  await until('lists show what was later', 10_000, async () => (await asOfMs()) > startedAtMs);
});

test('lists that follow each other share the moment for 250 ms, and one after a pause reads its own', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const latest = createLatestMoment(executions.clickhouse);
    expect(latest()).toBeUndefined();
    const first = await until('the moment is read', 10_000, async () => latest() ?? false);
    expect(Date.now() - first).toBeLessThan(10_300);
    vi.advanceTimersByTime(249);
    expect(latest()).toBe(first);
    vi.advanceTimersByTime(1);
    expect(latest()).toBeUndefined();
    expect(await until('it is read again', 10_000, async () => latest() ?? false)).toBeGreaterThan(first);
  } finally {
    vi.useRealTimers();
  }
});

const plan = (value: string): Condition => ({ attribute: 'plan', op: 'eq', values: [value] });
const conditions: Readonly<Record<string, Condition>> = {
  'a half of them': plan('pro'),
  'those sent again': plan('changed'),
  'a replaced value': plan('free'),
  'a word of a third': { words: ['third'] },
  'a rare value': { attribute: 'rare', op: 'eq', values: ['yes'] },
  'no value': plan('none'),
  'a negation': { not: plan('pro') },
  'one of two': { any: [plan('pro'), { words: ['third'] }] },
  'both of two': { all: [plan('pro'), { words: ['third'] }] },
};

/** Both searches also see rows that were replaced, until ClickHouse merges them. Then the places are read again. */
async function bothWays(query: PlacesQuery): Promise<{ expected: PresentPlace[]; found: PresentPlace[][] }> {
  for (;;) {
    const expected = await searchPlaces(executions.clickhouse, query);
    const first = await findPlaces(executions.clickhouse, query, noneIsRare);
    // Now it is known which search is shorter.
    const second = await findPlaces(executions.clickhouse, query, noneIsRare);
    const still = await searchPlaces(executions.clickhouse, query);
    if (idsOf(still).join() === idsOf(expected).join()) return { expected, found: [first, second] };
  }
}

const idsOf = (places: readonly PresentPlace[]) => places.map(({ traceId }) => traceId);

describe.each(Object.entries(conditions))('the places of executions with %s', (_, condition) => {
  test.each(['-started_at', 'started_at', '-duration_ms', 'total_tokens'])(
    'in the order %s are the same whether spans or the next executions are searched',
    async (sort) => {
      const list: ListQuery = {
        ...{ projectId: project.id, condition, sort },
        ...wholeWindow(),
      };
      let after: Place | undefined;
      for (let page = 0; page < 4; page++) {
        const query = { list, asOfMs: undefined, after, limit: 11 };
        const { expected, found } = await bothWays(query);
        expect(found.map(idsOf)).toEqual([idsOf(expected), idsOf(expected)]);
        after = expected.at(-1);
        if (after === undefined) break;
      }
    },
  );
});
