import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Execution } from '../../src/domains/executions/index.ts';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { anExecution, connectExecutions, noUsage, walkExecutions } from '../support/executions.ts';
import { integerBetween, type Random, seededRandom } from '../support/random.ts';
import { newTraceId, nowNano } from '../support/spans.ts';

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

const stored = 10_000;
const hourMs = 3_600_000;

/** Every key that a list can be sorted by is new, and in places shared with others. */
function placedAnywhere(random: Random, execution: Execution): Execution {
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

test.each(['-started_at', 'started_at', '-cost', 'cost', '-duration_ms', 'total_tokens'])(
  'a walk by %s over 10,000 executions gives each once, while others come and a tenth changes place',
  async (sort) => {
    const random = seededRandom();
    const project = await newProject(api);
    const all = Array.from({ length: stored }, () => placedAnywhere(random, anExecution(project)));
    await executions.store(all);

    let walking = true;
    let written = 0;
    const write = async () => {
      while (walking) {
        const changed = Array.from({ length: 10 }, () => {
          const at = integerBetween(random, 0, stored - 1);
          const next = placedAnywhere(random, all[at] ?? anExecution(project));
          all[at] = next;
          return next;
        });
        const added = Array.from({ length: 10 }, () =>
          placedAnywhere(random, anExecution(project, { traceId: newTraceId() })),
        );
        await executions.store([...new Map([...changed, ...added].map((one) => [one.traceId, one])).values()]);
        written += changed.length + added.length;
      }
    };
    const writing = write();
    const from = new Date(Date.now() - 2 * hourMs).toISOString();
    const walked = await walkExecutions(api, project, { sort, from, limit: 100 }).finally(() => {
      walking = false;
    });
    await writing;

    const counts = new Map<string, number>();
    for (const { trace_id } of walked) counts.set(trace_id, (counts.get(trace_id) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 1)).toEqual([]);
    expect(all.filter(({ traceId }) => !counts.has(traceId)).map(({ traceId }) => traceId)).toEqual([]);
    expect(written).toBeGreaterThan(stored / 10);
  },
  240_000,
);
