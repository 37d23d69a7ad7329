import { type Ending, finishRun } from '../../src/domains/optimization/finish-run.ts';
import { claimRun, renewLease } from '../../src/domains/optimization/lease-store.ts';
import { insertRows, type StoredRow } from '../../src/domains/optimization/row-store.ts';
import { insertRun, type NewRun } from '../../src/domains/optimization/run-store.ts';
import { RunWriter } from '../../src/domains/optimization/run-writer.ts';
import type { Candidate, Decision, Evaluation, SearchEvent } from '../../src/domains/prompt-search/search/ports.ts';
import { newId, type ProjectId, type WorkspaceId } from '../../src/lib/ids.ts';
import type { ProjectOfTest, TestApi } from './api.ts';
import { simulatedConfig } from './optimization-runs.ts';

/** What a search reported of a run, and how the run ended; without an ending it is running. */
export interface RunOfTest {
  promptId: string;
  rows?: readonly StoredRow[];
  events?: readonly SearchEvent[];
  ending?: Ending;
  warnings?: NewRun['warnings'];
}

/** Stores a run with the functions of the worker, and returns its id. */
export async function storedRun({ postgres }: TestApi, project: ProjectOfTest, given: RunOfTest): Promise<string> {
  const id = newId('opt');
  const projectId = project.id as ProjectId;
  await insertRun(postgres, aRun(project, id, given));
  await insertRows(postgres, { projectId, runId: id }, given.rows ?? []);
  const claimed = await claimRun(postgres, { projectId, runId: id });
  if (claimed === undefined) throw new Error(`The run ${id} cannot be claimed`);
  const writer = new RunWriter({ postgres, ...claimed, signal: new AbortController().signal });
  for (const event of given.events ?? []) {
    // Otherwise a worker takes the run.
    await renewLease(postgres, claimed.lease);
    await writer.note(event, 10);
  }
  await writer.flush(10);
  if (given.ending !== undefined) await finishRun(postgres, claimed.lease, given.ending);
  return id;
}

function aRun(project: ProjectOfTest, id: string, { promptId, rows = [], warnings = [] }: RunOfTest): NewRun {
  const count = (split: StoredRow['split']) => rows.filter((row) => row.split === split).length;
  return {
    ...{ id, workspaceId: project.workspaceId as WorkspaceId, projectId: project.id as ProjectId, promptId },
    ...{ baseVersion: 1, warnings, createdBy: { type: 'api_key', id: null }, reservationId: null },
    config: simulatedConfig(),
    options: {
      apply: 'never',
      dataset_source: 'inline',
      dataset_filter: null,
      holdout_fraction: 0.3,
      holdout_id: null,
    },
    plan: {
      rows: { train: count('train'), val: count('val'), holdout: count('holdout'), dropped: 0, unused: 0 },
      ...{ estimated_proposals: [1, 2], estimated_cost_usd: null, reserved_for_holdout_calls: 0 },
    },
  };
}

/** Returns a candidate in the pool. */
export function aCandidate(given: Partial<Candidate> & Pick<Candidate, 'id' | 'content'>): Candidate {
  return {
    ...{ hash: `hash of ${given.id}`, parents: [], origin: 'reflect', hypothesis: null, status: 'pool' },
    ...{ rejectReason: null, iteration: 1, promptTokens: 20, minibatch: null, val: { mean: 0.5, n: 10 } },
    ...given,
  };
}

/** Returns an evaluation on a row of the holdout. */
export function anEvaluation(given: Partial<Evaluation> & Pick<Evaluation, 'candidateHash' | 'rowKey'>): Evaluation {
  return {
    ...{ sampleIx: 0, split: 'holdout', score: 1, objectives: {}, feedback: '', output: 'P1' },
    ...{ latencyMs: 20, inputTokens: 10, outputTokens: 2, costNanoUsd: 1_000n, error: null },
    ...given,
  };
}

/** Returns the decision for a winner that is better on 20 rows of the holdout. */
export function aDecision(winnerId: string, given: Partial<Decision> = {}): Decision {
  return {
    ...{ outcome: 'improved', finishReason: 'patience', winnerId },
    score: {
      ...{ split: 'holdout', n: 20 },
      base: { mean: 0.4, ci95: [0.219, 0.613] },
      best: { mean: 0.9, ci95: [0.699, 0.972] },
      delta: { mean: 0.5, ci95: [0.3, 0.7], p: 0.00195 },
    },
    delta: {
      promptTokens: { mean: 12, ci95: [12, 12] },
      ...{ outputTokens: null, costPer1kCallsUsd: null, latencyMsP50: -3, latencyMsP95: null },
    },
    frontier: [
      { candidateId: winnerId, valScore: 0.95, promptTokens: 32, costNanoUsd: 2_500, latencyMs: 21, onFrontForRows: 9 },
    ],
    ...given,
  };
}
