import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { finishedRun } from '../../support/optimization.ts';
import type { WireItem } from '../../support/prompt-api.ts';
import { useRunActions } from '../../support/run-actions.ts';

const use = useRunActions();
const { it, apply, cancel, read, auditOf, completedRun } = use;

describe('201', () => {
  test('the winner becomes the newest version, and another request gets that one with 200', async () => {
    const run = await completedRun();
    const first = await apply(run);
    expect(first.status, first.text).toBe(201);
    expect(first.body).toMatchObject({
      ...{ version: 2, parent_version: 1, kind: 'optimization', candidate_id: 'c2', run_id: run.run_id },
      ...{ template: 'Answer with yes or no, and nothing else.\n{{question}}', optimization_run_id: run.run_id },
      config: { model: 'gpt-4.1-mini' },
    });
    const second = await apply(run, { candidate_id: 'c1' });
    expect([second.status, second.body.version, second.body.candidate_id]).toEqual([200, 2, 'c2']);
    const { body } = await read(run);
    expect(body).toMatchObject({ applied_version: 2, applied_candidate_id: 'c2' });
    expect(await auditOf(run)).toEqual(['optimization_run.created', 'optimization_run.applied']);
    const prompt = await it.call<WireItem>('getPrompt', run.prompt_id);
    expect(prompt.body).toMatchObject({ version: 2, latest_version: 2 });
  });

  test('another candidate than the winner, of a run that failed', async () => {
    const run = await it.newRun();
    await finishedRun(it.api, it.project, run, { state: 'failed', error: { code: 'worker_lost', message: 'lost' } });
    const { status, body } = await apply(run, { candidate_id: 'c1' });
    expect([status, body.template]).toEqual([201, 'Answer no.\n{{question}}']);
  });
});

describe('200', () => {
  test('of requests that come together, one makes a version and the others get it', async () => {
    const run = await completedRun();
    const answers = await Promise.all([1, 2, 3, 4].map(() => apply(run)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.version))).toEqual(new Set([2]));
  });
});

describe('409', () => {
  test('the prompt has a newer version, unless it is forced', async () => {
    const run = await completedRun();
    await it.call('updatePrompt', run.prompt_id, { body: { template: 'Newer {{question}}' } });
    const problem = expectProblem((await apply(run)) as never, 409, 'base_version_changed');
    expect(problem).toMatchObject({ base_version: 1, current_version: 2 });
    const forced = await apply(run, { force: true });
    expect([forced.status, forced.body.version, forced.body.parent_version]).toEqual([201, 3, 2]);
  });

  test('the run has not ended, or has nothing', async () => {
    const run = await it.newRun();
    expectProblem((await apply(run)) as never, 409, 'run_not_terminal');
    await cancel(run);
    expectProblem((await apply(run)) as never, 409, 'nothing_to_apply');
  });
});

describe('400', () => {
  test('an unknown field', async () => {
    const run = await completedRun();
    expectProblem((await apply(run, { candidate: 'c2' })) as never, 400, 'unknown_field');
  });
});

describe('422', () => {
  test('a wrong type', async () => {
    const run = await completedRun();
    expectProblem((await apply(run, { force: 'yes' })) as never, 422, 'invalid_body');
  });
});

describe('403', () => {
  test('a key without optimize:run, and a viewer', () => use.expectForbidden('applyOptimizationRun'));
});

describe('404', () => {
  test('an unknown candidate', async () => {
    expectProblem((await apply(await completedRun(), { candidate_id: 'nobody' })) as never, 404, 'candidate_not_found');
  });

  test('an unknown run, and the run of another project', () => use.expectUnknown('applyOptimizationRun'));
});
