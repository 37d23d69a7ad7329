import { afterAll, beforeAll, expect, it } from 'vitest';
import { saveEvaluations } from '../../src/domains/optimization/candidate-store.ts';
import { claimRun } from '../../src/domains/optimization/lease-store.ts';
import type { Evaluation } from '../../src/domains/prompt-search/index.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { insertQueuedRun } from '../support/optimization-runs.ts';

let api: TestApi;
let project: ProjectOfTest;
beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const evaluation = (index: number, output: string): Evaluation => ({
  ...{ candidateHash: 'hash', rowKey: `row-${index}`, sampleIx: 0, split: 'val', score: 1, objectives: {} },
  ...{ feedback: 'good', output, latencyMs: 5, inputTokens: 7, outputTokens: 3, costNanoUsd: 1n, error: null },
});

interface Statement {
  sql: string;
  bindings: unknown[];
}

it('many evaluations with long outputs are stored by several statements, none of which has much to bind', async () => {
  const evaluations = Array.from({ length: 620 }, (_, index) =>
    evaluation(index, index < 20 ? 'é'.repeat(131_072) : 'short'),
  );
  const inserts: { rows: number; bytes: number }[] = [];
  const note = ({ sql, bindings }: Statement) => {
    if (!sql.startsWith('insert into "optimization_evaluations"')) return;
    const texts = bindings.filter((each) => typeof each === 'string');
    inserts.push({
      rows: texts.filter((text) => text.startsWith('row-')).length,
      bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    });
  };
  api.postgres.on('query', note);
  const run = await insertQueuedRun(api.postgres, project.id, {}, async (transaction, { projectId, id }) => {
    await claimRun(transaction, { projectId, runId: id });
    // No worker takes it, although nobody renews its lease.
    await transaction('optimization_runs')
      .where({ project_id: projectId, id })
      .update({ heartbeat_at: new Date(Date.now() + 3_600_000) });
    await saveEvaluations(transaction, { projectId, runId: id }, evaluations);
  });
  api.postgres.off('query', note);
  const stored = await api.postgres('optimization_evaluations').where({ run_id: run.id }).count({ n: '*' }).first();
  expect(Number(stored?.n)).toBe(620);
  expect(Math.max(...inserts.map(({ rows }) => rows))).toBe(250);
  expect(Math.max(...inserts.map(({ bytes }) => bytes))).toBeLessThan(1.1 * 1024 * 1024);
});
