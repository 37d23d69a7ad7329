import { describe, expect, test } from 'vitest';
import { endRun } from '../../../src/domains/optimization/end-run.ts';
import { expectProblem } from '../../support/api.ts';
import { takeRun } from '../../support/optimization.ts';
import { useRunActions } from '../../support/run-actions.ts';

const use = useRunActions();
const { it, cancel, read, auditOf, eventsOf, completedRun } = use;

describe('202', () => {
  test('a run that waits is cancelled at once, with an event for webhooks', async () => {
    const run = await it.newRun();
    const { status, body, text } = await cancel(run);
    expect(status, text).toBe(202);
    expect(body).toMatchObject({ status: 'cancelled', finish_reason: 'cancelled', outcome: null });
    expect(await eventsOf(run)).toEqual([['optimization.finished', 'cancelled', null]]);
    expect(await auditOf(run)).toEqual(['optimization_run.created', 'optimization_run.cancelled']);
    expect((await it.optimize(run.prompt_id)).status).toBe(202);
  });

  test('a run that a worker has ends when the worker has stopped', async () => {
    const run = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, run);
    expect((await cancel(run)).body).toMatchObject({ status: 'cancelling', outcome: null });
    expect((await cancel(run)).status).toBe(202);
    expect((await it.optimize(run.prompt_id)).status).toBe(409);
    await endRun(it.api.postgres, lease, { state: 'cancelled' });
    expect((await read(run)).body.status).toBe('cancelled');
    expect(await auditOf(run)).toEqual(['optimization_run.created', 'optimization_run.cancelled']);
  });
});

describe('200', () => {
  test('a run that was cancelled before', async () => {
    const run = await it.newRun();
    await cancel(run);
    const again = await cancel(run);
    expect([again.status, again.body.status]).toEqual([200, 'cancelled']);
    expect(await eventsOf(run)).toHaveLength(1);
  });
});

describe('409', () => {
  test('a run that has ended', async () => {
    expectProblem((await cancel(await completedRun())) as never, 409, 'run_not_active');
  });
});

describe('403', () => {
  test('a key without optimize:run, and a viewer', () => use.expectForbidden('cancelOptimizationRun'));
});

describe('404', () => {
  test('an unknown run, and the run of another project', () => use.expectUnknown('cancelOptimizationRun'));
});
