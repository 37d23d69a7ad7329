import { expect, test } from 'vitest';
import { type RunDetailWire, useOptimizationApi } from '../support/optimization.ts';
import { runAttempt } from '../support/run-attempt.ts';

const it = useOptimizationApi();

const read = async ({ run_id, prompt_id }: { run_id: string; prompt_id: string }) =>
  (await it.call<RunDetailWire>('getOptimizationRun', prompt_id, { params: { run_id } })).body;

/** Stores that a run has a limit of its cost. */
const limitCost = ({ run_id }: { run_id: string }) =>
  it.api
    .postgres('optimization_runs')
    .where({ id: run_id })
    .update({ config: it.api.postgres.raw(`jsonb_set(config::jsonb, '{budget,maxCostUsd}', '"5"')`) });

test('a run with max_cost_usd that waits while its model loses its price ends with that reason, without a call', async () => {
  const run = await it.newRun({ body: { target: { model: 'lost-its-price' }, reflection: { model: 'gpt-4.1' } } });
  await limitCost(run);
  await runAttempt(it.api, { projectId: it.project.id, runId: run.run_id }, async () =>
    expect.unreachable('The search has begun'),
  );
  expect(await read(run)).toMatchObject({
    ...{ status: 'failed', finish_reason: 'error', usage: { calls: 0 } },
    error: { code: 'price_unknown', message: expect.stringContaining('have none: lost-its-price') },
  });
});
