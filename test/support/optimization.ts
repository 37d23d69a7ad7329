import { afterAll, beforeAll } from 'vitest';
import type { z } from 'zod';
import { saveCandidate, saveEvaluations } from '../../src/domains/optimization/candidate-store.ts';
import { endRun } from '../../src/domains/optimization/end-run.ts';
import type { Ending } from '../../src/domains/optimization/finish-run.ts';
import { claimRun } from '../../src/domains/optimization/lease-store.ts';
import { storeProgress } from '../../src/domains/optimization/progress-store.ts';
import { listRows } from '../../src/domains/optimization/row-store.ts';
import type { createdRunSchema, runSchema } from '../../src/domains/optimization/run.schema.ts';
import type { runDetailSchema } from '../../src/domains/optimization/run-detail.schema.ts';
import { insertRunEvents } from '../../src/domains/optimization/run-event-store.ts';
import { contentHash, promptTokensOf } from '../../src/domains/prompt-search/search/candidate-content.ts';
import type { Candidate, CandidateContent, Decision } from '../../src/domains/prompt-search/search/ports.ts';
import type { ProjectId, WorkspaceId } from '../../src/lib/ids.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { type Answer, type CallOptions, newProject, type ProjectOfTest, startApi, type TestApi } from './api.ts';
import { newDatabase } from './own-database.ts';
import type { WireItem } from './prompt-api.ts';

export type CreatedRunWire = z.infer<typeof createdRunSchema>;
export type RunWire = z.infer<typeof runSchema>;
export type RunDetailWire = z.infer<typeof runDetailSchema>;

/** No test here sends a request to it: a run has no worker. */
export const llm = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: undefined, reflectionModel: 'sim-reflect' };

/** Rows whose inputs and labels differ. */
export const rowsOf = (count: number, more: (index: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ inputs: { question: `Question ${index}` }, expected: index % 2 === 0 ? 'yes' : 'no' },
    ...more(index),
  }));

export const inline = (rows: readonly unknown[]) => ({ dataset: { source: 'inline', rows } });

export interface OptimizationApi {
  readonly api: TestApi;
  readonly project: ProjectOfTest;
  newPrompt(body?: object): Promise<WireItem>;
  /** Calls an operation on a prompt, with the key of the project. */
  call<T>(operationId: string, promptId: string, options?: CallOptions): Promise<Answer<T>>;
  /** Asks for a run with 60 rows, unless the body says something else. */
  optimize<T = CreatedRunWire>(promptId: string, body?: object, options?: CallOptions): Promise<Answer<T>>;
  /** Starts a run of a new prompt, or of the given one. */
  newRun(given?: { promptId?: string; body?: object }): Promise<CreatedRunWire>;
}

/**
 * Starts the API with an endpoint of models, and a project, for one test file. Its database has no worker.
 */
export function useOptimizationApi(): OptimizationApi {
  let started: { api: TestApi; project: ProjectOfTest } | undefined;
  beforeAll(async () => {
    const api = await startApi({ llm, databaseUrl: await newDatabase() });
    started = { api, project: await newProject(api) };
  });
  afterAll(() => started?.api.close());
  const use = () => {
    if (started === undefined) throw new Error('The API is available only within a test');
    return started;
  };
  const it: OptimizationApi = {
    get api() {
      return use().api;
    },
    get project() {
      return use().project;
    },
    async newPrompt(body = {}) {
      const { api, project } = use();
      return newOptimizablePrompt(api, project, body);
    },
    call(operationId, promptId, { params, ...options } = {}) {
      const { api, project } = use();
      const path = { project_id: project.id, prompt_id: promptId, ...params };
      return api.call(operationId, { key: project.key, ...options, params: path });
    },
    optimize: (promptId, body = {}, options = {}) =>
      it.call('optimizePrompt', promptId, { body: { ...inline(rowsOf(60)), ...body }, ...options }),
    async newRun({ promptId, body } = {}) {
      const answer = await it.optimize(promptId ?? (await it.newPrompt()).id, body);
      if (answer.status !== 202) throw new Error(`optimizePrompt responded with ${answer.status}: ${answer.text}`);
      return answer.body;
    },
  };
  return it;
}

let counted = 0;

/** Creates a prompt with text, a variable and a model. */
export function newOptimizablePrompt(api: TestApi, project: ProjectOfTest, body: object = {}): Promise<WireItem> {
  counted += 1;
  const given = {
    name: `Optimized ${process.pid} ${counted}`,
    type: 'text',
    template: 'Answer yes or no.\n{{question}}',
  };
  const options = {
    params: { project_id: project.id },
    body: { ...given, config: { model: 'gpt-4.1-mini' }, ...body },
  };
  return api.admin<WireItem>('createPrompt', options, 201);
}

/** Names a run of a project. */
export const runRef = (project: ProjectOfTest, { run_id: runId }: { run_id: string }) => ({
  ...{ workspaceId: project.workspaceId as WorkspaceId, projectId: project.id as ProjectId, runId },
});

/** Takes a run as a worker does. */
export async function takeRun(api: TestApi, project: ProjectOfTest, wire: { run_id: string }) {
  const ref = runRef(project, wire);
  const claimed = await inTransaction(api.postgres, async (transaction) => {
    const found = await claimRun(transaction, ref);
    if (found) await insertRunEvents(transaction, ref, [{ type: 'state', data: { status: found.run.state } }]);
    return found;
  });
  if (claimed === undefined) throw new Error(`The run ${wire.run_id} cannot be taken`);
  return claimed;
}

/** A candidate as a search reports it. */
export function aCandidate(id: string, template: string, more: Partial<Candidate> = {}): Candidate {
  const content: CandidateContent = { type: 'text', template };
  return {
    ...{ id, content, hash: contentHash(content), parents: ['seed'], origin: 'reflect', hypothesis: 'Say less' },
    ...{ status: 'pool', rejectReason: null, iteration: 1, promptTokens: promptTokensOf(content) },
    ...{ minibatch: { before: 0.25, after: 0.75 }, val: { mean: 0.9, n: 10 } },
    ...more,
  };
}

export const seedCandidate = aCandidate('seed', 'Answer yes or no.\n{{question}}', {
  ...{ origin: 'seed', parents: [], hypothesis: null, iteration: 0, minibatch: null, val: { mean: 0.5, n: 10 } },
});

export const candidates: readonly Candidate[] = [
  seedCandidate,
  aCandidate('c1', 'Answer no.\n{{question}}', {
    ...{ status: 'rejected_gate', rejectReason: 'It is not better on the batch.', val: null },
  }),
  aCandidate('c2', 'Answer with yes or no, and nothing else.\n{{question}}', { iteration: 2 }),
];

const interval = (mean: number) => ({ mean, ci95: [mean - 0.1, mean + 0.1] as const });

/** A decision for the last of {@link candidates}. */
export const decision: Decision = {
  ...{ outcome: 'improved', finishReason: 'budget_calls', winnerId: 'c2' },
  score: { split: 'holdout', n: 20, base: interval(0.5), best: interval(0.9), delta: { ...interval(0.4), p: 0.008 } },
  delta: {
    ...{ promptTokens: interval(6), outputTokens: interval(-2), costPer1kCallsUsd: interval(0.04) },
    ...{ latencyMsP50: 12, latencyMsP95: 30 },
  },
  frontier: [
    { candidateId: 'c2', valScore: 0.9, promptTokens: 14, costNanoUsd: 120_000, latencyMs: 300, onFrontForRows: 9 },
  ],
};

/** Takes a run and stores candidates, scores and progress of it, as a worker does. */
export async function searchRun(api: TestApi, project: ProjectOfTest, wire: { run_id: string }) {
  const { run, lease } = await takeRun(api, project, wire);
  const rows = await listRows(api.postgres, run);
  const val = rows.filter(({ split }) => split === 'val');
  await inTransaction(api.postgres, async (transaction) => {
    for (const candidate of candidates) await saveCandidate(transaction, lease, candidate);
    const evaluations = val.map(({ key: rowKey, split }, index) => ({
      ...{ candidateHash: candidates[2]?.hash ?? '', rowKey, sampleIx: 0, split, score: index === 0 ? null : 1 },
      ...{ objectives: {}, feedback: '', output: 'yes', latencyMs: 5, inputTokens: 10, outputTokens: 1 },
      ...{ costNanoUsd: 100n, error: index === 0 ? 'provider_error: 500' : null },
    }));
    await saveEvaluations(transaction, lease, evaluations);
    await insertRunEvents(
      transaction,
      lease,
      candidates.map(({ id }) => ({ type: 'candidate' as const, data: { candidate_id: id } })),
    );
    const progress = { phase: 'search', iteration: 2, bestVal: 0.9, bestCandidateId: 'c2', fraction: 0.5 } as const;
    await storeProgress(transaction, lease, {
      progress: { ...progress, updatedAt: new Date().toISOString() },
      warnings: run.warnings,
      scores: [{ call: 10, best_val: 0.5 }],
    });
  });
  return { run, lease, val };
}

/** Brings a run to its end without a worker. */
export async function finishedRun(
  api: TestApi,
  project: ProjectOfTest,
  wire: { run_id: string },
  ending: Ending = { state: 'completed', decision },
): Promise<void> {
  const { lease } = await searchRun(api, project, wire);
  if ((await endRun(api.postgres, lease, ending)) === undefined) throw new Error('The run has not ended');
}
