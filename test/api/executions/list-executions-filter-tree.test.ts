import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SummarizedExecution } from '../../../src/domains/summaries/index.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions, noUsage } from '../../support/executions.ts';
import { anyFacts, anyTree, satisfies } from '../../support/filter-tree.ts';
import { listExecutions } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;
let stored: SummarizedExecution[];

beforeAll(async () => {
  api = await startApi();
  const executions = connectExecutions(api);
  project = await newProject(api);
  stored = fc.sample(anyFacts, { numRuns: 60, seed: 7 }).map((facts, index) => {
    const execution = anExecution(project, facts);
    return {
      ...execution,
      endUnixNano: execution.startUnixNano + BigInt(index % 4) * 500_000n,
      usage: { ...noUsage, totalTokens: index % 5 },
    };
  });
  await executions.store(stored);
  await executions.close();
});
afterAll(() => api.close());

test('any valid filter gives exactly the executions that satisfy it', async () => {
  await fc.assert(
    fc.asyncProperty(anyTree, async (tree) => {
      const query = { limit: 100, fields: 'trace_id', filter: JSON.stringify(tree) };
      const { status, text, body } = await listExecutions(api, project, query);
      expect(status, text).toBe(200);
      const expected = stored.filter((execution) => satisfies(execution, tree)).map(({ traceId }) => traceId);
      expect(body.data.map(({ trace_id }) => trace_id).sort()).toEqual(expected.sort());
    }),
    { numRuns: 100 },
  );
}, 120_000);
