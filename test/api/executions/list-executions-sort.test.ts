import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions, noUsage, walkExecutions } from '../../support/executions.ts';
import { nowNano } from '../../support/spans.ts';
import { type ExecutionWire, listExecutions } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;
let executions: ReturnType<typeof connectExecutions>;

const distinct = 7;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
  project = await newProject(api);
  // Some share every key, so that ties matter, and some have no cost.
  const all = Array.from({ length: 22 }, (_, index) => {
    const rank = (index * 3) % distinct;
    const startUnixNano = nowNano(-60_000 * rank);
    return anExecution(project, {
      startUnixNano,
      endUnixNano: startUnixNano + BigInt((rank * 5) % distinct) * 1_500_000n,
      costNanoUsd: index % 4 === 0 ? null : BigInt((rank * 2) % distinct) * 10n ** 12n + 1n,
      usage: { ...noUsage, totalTokens: (rank * 4) % distinct },
    });
  });
  await executions.store(all);
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

const keys: Readonly<Record<string, (execution: ExecutionWire) => number | null>> = {
  started_at: ({ started_at }) => Date.parse(started_at),
  duration_ms: ({ duration_ms }) => duration_ms,
  cost: ({ cost }) => (cost === null ? null : Number(cost)),
  total_tokens: ({ usage }) => usage.total_tokens,
};

function expectSorted(listed: readonly ExecutionWire[], sort: string): void {
  const sign = sort.startsWith('-') ? -1 : 1;
  const key = keys[sort.replace('-', '')];
  const order = (a: ExecutionWire, b: ExecutionWire) => {
    const [left = null, right = null] = [key?.(a), key?.(b)];
    if (left !== right) return left === null ? 1 : right === null ? -1 : sign * (left - right);
    return a.trace_id < b.trace_id ? -sign : sign;
  };
  expect(listed.map(({ trace_id }) => trace_id)).toEqual(listed.toSorted(order).map(({ trace_id }) => trace_id));
}

describe.each(Object.keys(keys).flatMap((name) => [name, `-${name}`]))('sort=%s', (sort) => {
  test('gives all in order, nulls last, ties by trace id', async () => {
    const { body } = await listExecutions(api, project, { sort, limit: 100 });
    expect(body.data.length).toBe(22);
    expectSorted(body.data, sort);
  });

  test.each([1, 3, 21])('by pages of %i is the same list', async (limit) => {
    const whole = await listExecutions(api, project, { sort, limit: 100 });
    const walked = await walkExecutions(api, project, { sort, limit });
    expect(walked.map(({ trace_id }) => trace_id)).toEqual(whole.body.data.map(({ trace_id }) => trace_id));
  });
});

test('no sort is -started_at', async () => {
  const [plain, sorted] = [
    await listExecutions(api, project),
    await listExecutions(api, project, { sort: '-started_at' }),
  ];
  expect(plain.body.data).toEqual(sorted.body.data);
});

test('a cursor of another sort is cursor_mismatch', async () => {
  const { body } = await listExecutions(api, project, { sort: 'cost', limit: 1 });
  const cursor = body.page.next_cursor ?? '';
  expectProblem(await listExecutions(api, project, { sort: '-cost', cursor }), 400, 'cursor_mismatch');
});

test.each(['name', '--cost', 'Cost', 'started_at,cost', ''])(
  'sort=%s is refused with the sorts there are',
  async (sort) => {
    const problem = expectProblem(await listExecutions(api, project, { sort }), 400, 'invalid_parameter');
    expect(problem.errors).toContainEqual(
      expect.objectContaining({ path: 'sort', message: expect.stringContaining('-cost') }),
    );
  },
);

test('an execution whose cost changes between pages keeps its place', async () => {
  const own = await newProject(api);
  const [cheap, dear, dearest] = [1n, 2n, 3n].map((costNanoUsd) => anExecution(own, { costNanoUsd }));
  if (!cheap || !dear || !dearest) throw new Error('Three were made');
  await executions.store([cheap, dear, dearest]);
  const first = await listExecutions(api, own, { sort: 'cost', limit: 1 });
  // The one given out goes to the end, the last one to the front.
  await executions.store([
    { ...cheap, version: 2n, costNanoUsd: 9n },
    { ...dearest, version: 2n, costNanoUsd: 0n },
  ]);
  const cursor = first.body.page.next_cursor ?? '';
  const rest = await listExecutions(api, own, { sort: 'cost', limit: 2, cursor });
  const listed = [...first.body.data, ...rest.body.data].map(({ trace_id }) => trace_id);
  expect(listed).toEqual([cheap, dear, dearest].map(({ traceId }) => traceId));
  expect(rest.body.page.has_more).toBe(false);
});
