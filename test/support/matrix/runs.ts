import { newId } from '../../../src/lib/ids.ts';
import type { ProjectOfTest, TestApi } from '../api.ts';

/**
 * Inserts a run that was cancelled, with one candidate and its last event. No worker changes a run that
 * has ended.
 */
export async function insertEndedRun(api: TestApi, project: ProjectOfTest, promptId: string, text: string) {
  const [runId, candidateId] = [newId('opt'), `c_${newId('opt')}`];
  const ref = { project_id: project.id, run_id: runId };
  const json = (value: unknown) => JSON.stringify(value);
  await api.postgres('optimization_runs').insert({
    ...{ id: runId, workspace_id: project.workspaceId, project_id: project.id, prompt_id: promptId, base_version: 1 },
    ...{ algorithm: 'reflective', state: 'cancelled', finish_reason: 'cancelled', created_by_type: 'admin' },
    ...{ finished_at: new Date(), event_seq: 1 },
    config: json({
      ...{ algorithm: 'reflective', seed: 1, metrics: [{ type: 'exact_match' }], minEffect: 0 },
      ...{ target: { model: text, params: {}, samplesPerRow: 1 }, reflection: { model: text, params: {} } },
      budget: { maxCalls: 100, maxTokens: null, maxCostUsd: null, maxDurationS: null },
      search: {
        ...{ maxIterations: 1, patience: 1, minibatchSize: 1, valSize: null, concurrency: 1 },
        ...{ maxPromptTokens: null, targetScore: null, guidance: text },
      },
    }),
    options: json({
      ...{ apply: 'never', dataset_source: 'inline', dataset_filter: null, holdout_fraction: 0.3, holdout_id: null },
    }),
    plan: json({
      rows: { train: 1, val: 1, holdout: 0, dropped: 0, unused: 0 },
      ...{ estimated_proposals: [1, 1], estimated_cost_usd: null, reserved_for_holdout_calls: 0 },
    }),
    progress: json({
      ...{ phase: 'search', iteration: 1, bestVal: 1, bestCandidateId: candidateId, fraction: 1 },
      updatedAt: new Date().toISOString(),
    }),
  });
  await api.postgres('optimization_candidates').insert({
    ...{ ...ref, id: candidateId, position: 0, hash: runId, content: json({ type: 'text', template: `${text} new` }) },
    ...{ parents: [], origin: 'seed', status: 'pool', iteration: 0, prompt_tokens: 1, val_mean: 1, val_n: 1 },
  });
  await api.postgres('optimization_events').insert({
    ...{ ...ref, seq: 1, type: 'state', data: json({ status: 'cancelled', note: text }) },
  });
  return { runId, candidateId };
}
