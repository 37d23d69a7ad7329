import { describe, expect, test } from 'vitest';
import { RunWriter } from '../../../src/domains/optimization/run-writer.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject } from '../../support/api.ts';
import {
  aCandidate,
  finishedRun,
  newOptimizablePrompt,
  type RunDetailWire,
  searchRun,
  useOptimizationApi,
} from '../../support/optimization.ts';

const it = useOptimizationApi();

const get = (promptId: string, runId: string, headers: Record<string, string> = {}) =>
  it.call<RunDetailWire>('getOptimizationRun', promptId, { params: { run_id: runId }, headers });

describe('200', () => {
  test('a run that waits has its config and plan, and says when to ask again', async () => {
    const { run_id, prompt_id, config, plan, warnings } = await it.newRun();
    const { status, body, headers, text } = await get(prompt_id, run_id);
    expect(status, text).toBe(200);
    expect(body).toMatchObject({ status: 'queued', outcome: null, score: null, delta: null, best: null, error: null });
    expect(body).toMatchObject({ config, plan, warnings, frontier: [], score_history: [], attempt: 0 });
    expect(body.progress).toMatchObject({ phase: 'preparing', fraction: 0, calls_used: 0, best_val: null });
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.get('etag')).toMatch(/^".+"$/);
  });

  test('a run in progress has the best so far, without a result on the holdout', async () => {
    const { run_id, prompt_id } = await it.newRun();
    await searchRun(it.api, it.project, { run_id });
    const { body, headers } = await get(prompt_id, run_id);
    expect(body).toMatchObject({ status: 'running', outcome: null, attempt: 1, fraction: 0.5 });
    expect(body.progress).toMatchObject({ phase: 'search', iteration: 2, best_val: 0.9, best_candidate_id: 'c2' });
    expect(body.best).toMatchObject({
      ...{ candidate_id: 'c2', hypothesis: 'Say less', val: { mean: 0.9, n: 10 }, holdout: null },
      template: 'Answer with yes or no, and nothing else.\n{{question}}',
    });
    expect(body.best?.diff).toContain('-Answer yes or no.');
    expect(body.best?.diff).toContain('+Answer with yes or no, and nothing else.');
    expect(body.score_history).toEqual([{ call: 10, best_val: 0.5 }]);
    expect(headers.get('retry-after')).toBe('1');
  });

  test('a completed run has its winner, measured on the holdout, and the frontier', async () => {
    const { run_id, prompt_id } = await it.newRun();
    await finishedRun(it.api, it.project, { run_id });
    const { body, headers } = await get(prompt_id, run_id);
    expect(body).toMatchObject({ status: 'completed', outcome: 'improved', finish_reason: 'budget_calls' });
    expect(body.best).toMatchObject({ candidate_id: 'c2', holdout: { mean: 0.9, n: 20 } });
    expect(body.frontier).toEqual([
      { candidate_id: 'c2', val_score: 0.9, prompt_tokens: 14, cost: '0.000120', latency: 300, on_front_for_rows: 9 },
    ]);
    expect(headers.get('retry-after')).toBeNull();
  });

  test('a failed run says why, and keeps its best so far', async () => {
    const { run_id, prompt_id } = await it.newRun();
    const error = { code: 'provider_auth', message: 'The endpoint refused the key' } as const;
    await finishedRun(it.api, it.project, { run_id }, { state: 'failed', error });
    const { body } = await get(prompt_id, run_id);
    expect(body).toMatchObject({ status: 'failed', outcome: null, finish_reason: 'error', error });
    expect(body.best).toMatchObject({ candidate_id: 'c2', holdout: null });
  });

  test('a run of a deleted prompt can be read by the id of the prompt', async () => {
    const { run_id, prompt_id } = await it.newRun();
    await it.call('cancelOptimizationRun', prompt_id, { params: { run_id } });
    await it.call('deletePrompt', prompt_id);
    expect((await get(prompt_id, run_id)).body).toMatchObject({ run_id, status: 'cancelled' });
  });
});

describe('304', () => {
  test('nothing has changed since, until something has', async () => {
    const { run_id, prompt_id } = await it.newRun();
    const etag = (await get(prompt_id, run_id)).headers.get('etag') ?? '';
    expect((await get(prompt_id, run_id, { 'If-None-Match': etag })).status).toBe(304);
    await searchRun(it.api, it.project, { run_id });
    const changed = await get(prompt_id, run_id, { 'If-None-Match': etag });
    expect([changed.status, changed.body.status]).toEqual([200, 'running']);
    const newer = changed.headers.get('etag') ?? '';
    expect((await get(prompt_id, run_id, { 'If-None-Match': newer })).status).toBe(304);
  });

  test('a run whose candidates are more, or became others, has changed', async () => {
    const { run_id, prompt_id } = await it.newRun();
    const { run, lease } = await searchRun(it.api, it.project, { run_id });
    const writer = new RunWriter({ postgres: it.api.postgres, lease, run, signal: new AbortController().signal });
    let { body, headers } = await get(prompt_id, run_id);
    for (const [status, poolMore] of [
      ['raced_out', 0],
      ['pool', 1],
    ] as const) {
      const [etag, { candidates }] = [headers.get('etag') ?? '', body];
      await writer.note({ type: 'candidate', candidate: aCandidate('c3', 'Say yes.\n{{question}}', { status }) }, 1);
      const changed = await get(prompt_id, run_id, { 'If-None-Match': etag });
      expect(changed.status).toBe(200);
      expect(changed.body.candidates.pool).toBe(candidates.pool + poolMore);
      ({ body, headers } = changed);
    }
  });
});

describe('404', () => {
  test('an unknown run, a run of another prompt, and one of another project', async () => {
    const { run_id, prompt_id } = await it.newRun();
    expectProblem((await get(prompt_id, newId('opt'))) as never, 404, 'run_not_found');
    expectProblem((await get((await it.newPrompt()).id, run_id)) as never, 404, 'run_not_found');
    expectProblem((await get(newId('prm'), run_id)) as never, 404, 'prompt_not_found');
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id: prompt.id, run_id };
    expectProblem(await it.api.call('getOptimizationRun', { key: project.key, params }), 404, 'run_not_found');
    const foreign = { ...params, prompt_id };
    expectProblem(
      await it.api.call('getOptimizationRun', { key: project.key, params: foreign }),
      404,
      'prompt_not_found',
    );
  });
});
