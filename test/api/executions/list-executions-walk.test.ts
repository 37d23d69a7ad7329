import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SummarizedExecution } from '../../../src/domains/summaries/index.ts';
import { newProject, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions, noUsage, walkExecutions } from '../../support/executions.ts';
import { integerBetween, type Random, seededRandom } from '../../support/random.ts';
import { nowNano } from '../../support/spans.ts';

let api: TestApi;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

const hourMs = 3_600_000;

/** Every key that a list can be sorted by is new, and in places shared with others. */
function placedAnywhere(random: Random, execution: SummarizedExecution): SummarizedExecution {
  const startUnixNano = nowNano(-integerBetween(random, 1, 3_000) * 1_000);
  return {
    ...execution,
    version: execution.version + 1n,
    startUnixNano,
    endUnixNano: startUnixNano + BigInt(integerBetween(random, 1, 2_000)) * 1_000_000n,
    costNanoUsd: random() < 0.2 ? null : BigInt(integerBetween(random, 0, 3_000)) * 1_000n,
    usage: { ...noUsage, totalTokens: integerBetween(random, 0, 3_000) },
  };
}

test.each([
  ['-started_at', 10_000, 100],
  ['started_at', 750, 50],
  ['-cost', 750, 50],
  ['cost', 750, 50],
  ['-duration_ms', 750, 50],
  ['total_tokens', 750, 50],
])(
  'a walk by %s over %i executions gives each once, while others come and many change place',
  async (sort, stored, limit) => {
    const random = seededRandom();
    const project = await newProject(api);
    const all = Array.from({ length: stored }, () => placedAnywhere(random, anExecution(project)));
    await executions.store(all);

    let changes = 0;
    const write = async () => {
      const places = new Set(Array.from({ length: 15 }, () => integerBetween(random, 0, stored - 1)));
      const changed = [...places].map((at) => {
        const next = placedAnywhere(random, all[at] ?? anExecution(project));
        all[at] = next;
        return next;
      });
      const added = Array.from({ length: 15 }, () => placedAnywhere(random, anExecution(project)));
      await executions.store([...changed, ...added]);
      changes += changed.length;
    };
    const from = new Date(Date.now() - 2 * hourMs).toISOString();
    const walked = await walkExecutions(api, project, { sort, from, limit }, write);

    const counts = new Map<string, number>();
    for (const { trace_id } of walked) counts.set(trace_id, (counts.get(trace_id) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 1)).toEqual([]);
    expect(all.filter(({ traceId }) => !counts.has(traceId)).map(({ traceId }) => traceId)).toEqual([]);
    expect(changes).toBeGreaterThan(stored / 10);
  },
  180_000,
);
