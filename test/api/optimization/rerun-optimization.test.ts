import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { limitedProject } from '../../support/limits.ts';
import { type CreatedRunWire, finishedRun, inline, newOptimizablePrompt, rowsOf } from '../../support/optimization.ts';
import { useRunActions } from '../../support/run-actions.ts';

const use = useRunActions();
const { it, rerun, cancel, completedRun } = use;

describe('202', () => {
  test('a run with the same rows and settings', async () => {
    const run = await completedRun();
    const { status, body, headers, text } = await rerun(run);
    expect(status, text).toBe(202);
    expect(body).toMatchObject({ status: 'queued', config: run.config, plan: run.plan });
    expect(body.run_id).not.toBe(run.run_id);
    expect(headers.get('location')).toBe(body.links.self);
    const rowsOf = (id: string) =>
      it.api.postgres('optimization_rows').where('run_id', id).orderBy('position').select('row_key', 'split', 'inputs');
    expect(await rowsOf(body.run_id)).toEqual(await rowsOf(run.run_id));
  });
});

/** Does something while nobody can read the rows of runs. */
async function withoutRows(work: () => Promise<unknown>): Promise<void> {
  await it.api.postgres.transaction(async (locking) => {
    await locking.raw('lock table optimization_rows in access exclusive mode');
    await work();
  });
}

describe('402', () => {
  test('the quota of the plan is used up, which is known before rows are read', async () => {
    const project = await limitedProject(it.api, { quotas: { optimization_runs: 1 } });
    const { id: prompt_id } = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id };
    const options = { key: project.key, params, body: inline(rowsOf(30)) };
    const { body: run } = await it.api.call<CreatedRunWire>('optimizePrompt', options);
    await finishedRun(it.api, project, run);
    await withoutRows(async () => {
      const again = { key: project.key, params: { ...params, run_id: run.run_id } };
      expectProblem(await it.api.call('rerunOptimization', again), 402, 'quota_exceeded');
    });
  });
});

describe('409', () => {
  test('a run that has not ended, or another one of the prompt', async () => {
    const run = await it.newRun();
    expectProblem((await rerun(run)) as never, 409, 'run_not_terminal');
    await cancel(run);
    await it.newRun({ promptId: run.prompt_id });
    await withoutRows(async () => expectProblem((await rerun(run)) as never, 409, 'run_in_progress'));
  });
});

test('the fifth use of the same holdout is warned of', async () => {
  const prompt = await it.newPrompt();
  const codes: string[][] = [];
  for (let use = 1; use <= 5; use++) {
    const run = await it.newRun({ promptId: prompt.id });
    codes.push(run.warnings.map(({ code }) => code));
    await cancel(run);
  }
  expect(codes.map((each) => each.includes('holdout_reused'))).toEqual([false, false, false, false, true]);
});

test('what is known of the rows, the limits, the prices and the holdout is warned of again', async () => {
  const small = {
    ...inline(rowsOf(24)),
    metrics: [{ type: 'exact_match' }],
    budget: { max_calls: 60 },
    target: { model: 'nobody-knows-it' },
  };
  let run = await it.newRun({ body: small });
  const first = run.warnings.map(({ code }) => code);
  expect(first).toEqual(expect.arrayContaining(['low_budget', 'small_holdout', 'price_unknown']));
  for (let use = 2; use <= 5; use++) {
    await cancel(run);
    run = (await rerun(run)).body;
    const expected = ['rerun', ...first, ...(use === 5 ? ['holdout_reused'] : [])];
    expect(run.warnings.map(({ code }) => code).toSorted()).toEqual(expected.toSorted());
  }
});

describe('422', () => {
  test('a run with max_cost_usd whose model has lost its price', async () => {
    const run = await it.newRun({ body: { target: { model: 'lost-its-price' } } });
    await cancel(run);
    const { postgres } = it.api;
    const config = postgres.raw(`jsonb_set(config::jsonb, '{budget,maxCostUsd}', '"5"')`);
    await postgres('optimization_runs').where({ id: run.run_id }).update({ config });
    const answer = await rerun(run);
    expectProblem(answer as never, 422, 'price_unknown');
    expect(answer.text).toContain('lost-its-price');
  });
});

describe('403', () => {
  test('a key without optimize:run, and a viewer', () => use.expectForbidden('rerunOptimization'));
});

describe('404', () => {
  test('an unknown run, and the run of another project', () => use.expectUnknown('rerunOptimization'));
});
