import { describe, expect, test } from 'vitest';
import { eventData } from '../../../src/domains/events/event.ts';
import { endRun } from '../../../src/domains/optimization/end-run.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject } from '../../support/api.ts';
import {
  type CreatedRunWire,
  finishedRun,
  newOptimizablePrompt,
  type RunWire,
  takeRun,
  useOptimizationApi,
} from '../../support/optimization.ts';
import type { WireItem } from '../../support/prompt-api.ts';
import { newUser } from '../../support/users.ts';

const it = useOptimizationApi();

type Named = { run_id: string; prompt_id: string };

const act = <T>(operationId: string, { run_id, prompt_id }: Named, body?: object) =>
  it.call<T>(operationId, prompt_id, { params: { run_id }, ...(body && { body }) });
const cancel = (run: Named) => act<RunWire>('cancelOptimizationRun', run);
const apply = (run: Named, body?: object) =>
  act<WireItem & { candidate_id: string }>('applyOptimizationRun', run, body);
const rerun = (run: Named) => act<CreatedRunWire>('rerunOptimization', run);
const remove = (run: Named) => act('deleteOptimizationRun', run);

const auditOf = (run: Named) =>
  it.api.postgres('audit_log').where('target_id', run.run_id).orderBy('id').pluck('action');
const eventsOf = async (run: Named) =>
  (await it.api.postgres('events').whereRaw(`data ->> 'run_id' = ?`, [run.run_id])).map(({ type, data }) => {
    expect(eventData['optimization.finished'].parse(data)).toEqual(data);
    return [type, data.status, data.outcome];
  });

async function completedRun(): Promise<CreatedRunWire> {
  const run = await it.newRun();
  await finishedRun(it.api, it.project, run);
  return run;
}

describe('cancel', () => {
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
      expect((await act<RunWire>('getOptimizationRun', run)).body.status).toBe('cancelled');
      expect(await auditOf(run)).toEqual(['optimization_run.created', 'optimization_run.cancelled']);
    });
  });

  test('200: a run that was cancelled before', async () => {
    const run = await it.newRun();
    await cancel(run);
    const again = await cancel(run);
    expect([again.status, again.body.status]).toEqual([200, 'cancelled']);
    expect(await eventsOf(run)).toHaveLength(1);
  });

  test('409: a run that has ended', async () => {
    expectProblem((await cancel(await completedRun())) as never, 409, 'run_not_active');
  });
});

describe('apply', () => {
  test('201: the winner becomes the newest version; 200: and again that one', async () => {
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
    const { body } = await act<RunWire>('getOptimizationRun', run);
    expect(body).toMatchObject({ applied_version: 2, applied_candidate_id: 'c2' });
    expect(await auditOf(run)).toEqual(['optimization_run.created', 'optimization_run.applied']);
    const prompt = await it.call<WireItem>('getPrompt', run.prompt_id);
    expect(prompt.body).toMatchObject({ version: 2, latest_version: 2 });
  });

  test('201: another candidate, and of a run that was cancelled', async () => {
    const run = await it.newRun();
    await finishedRun(it.api, it.project, run, { state: 'failed', error: { code: 'worker_lost', message: 'lost' } });
    const { status, body } = await apply(run, { candidate_id: 'c1' });
    expect([status, body.template]).toEqual([201, 'Answer no.\n{{question}}']);
  });

  test('requests that come together make one version', async () => {
    const run = await completedRun();
    const answers = await Promise.all([1, 2, 3, 4].map(() => apply(run)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.version))).toEqual(new Set([2]));
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

  test('404: an unknown candidate', async () => {
    expectProblem((await apply(await completedRun(), { candidate_id: 'nobody' })) as never, 404, 'candidate_not_found');
  });

  test('400: an unknown field; 422: a wrong type', async () => {
    const run = await completedRun();
    expectProblem((await apply(run, { candidate: 'c2' })) as never, 400, 'unknown_field');
    expectProblem((await apply(run, { force: 'yes' })) as never, 422, 'invalid_body');
  });
});

describe('rerun', () => {
  test('202: a run with the same rows and settings', async () => {
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

  test('409: a run that has not ended, or another one of the prompt', async () => {
    const run = await it.newRun();
    expectProblem((await rerun(run)) as never, 409, 'run_not_terminal');
    await cancel(run);
    await it.newRun({ promptId: run.prompt_id });
    expectProblem((await rerun(run)) as never, 409, 'run_in_progress');
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
});

describe('delete', () => {
  test('204: the run is gone with everything of it, and the audit log has it', async () => {
    const run = await completedRun();
    await apply(run);
    expect((await remove(run)).status).toBe(204);
    for (const table of ['rows', 'candidates', 'evaluations', 'events', 'calls']) {
      expect(await it.api.postgres(`optimization_${table}`).where('run_id', run.run_id), table).toEqual([]);
    }
    expectProblem(await remove(run), 404, 'run_not_found');
    expect((await auditOf(run)).at(-1)).toBe('optimization_run.deleted');
    const version = await it.call<WireItem>('getPromptVersion', run.prompt_id, { params: { version: '2' } });
    expect(version.body).toMatchObject({ kind: 'optimization' });
  });

  test('409: a run that has not ended', async () => {
    expectProblem(await remove(await it.newRun()), 409, 'run_not_terminal');
  });
});

const operations = ['cancelOptimizationRun', 'applyOptimizationRun', 'rerunOptimization', 'deleteOptimizationRun'];

describe.each(operations)('%s', (operation) => {
  test('404: an unknown run, and the run of another project', async () => {
    const run = await completedRun();
    expectProblem(await act(operation, { ...run, run_id: newId('opt') }), 404, 'run_not_found');
    const project = await newProject(it.api);
    const { id: prompt_id } = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id, run_id: run.run_id };
    expectProblem(await it.api.call(operation, { key: project.key, params }), 404, 'run_not_found');
    expect((await act<RunWire>('getOptimizationRun', run)).body).toMatchObject({
      status: 'completed',
      applied_version: null,
    });
  });

  test('403: a key without optimize:run, and a viewer', async () => {
    const run = await completedRun();
    const params = { project_id: it.project.id, prompt_id: run.prompt_id, run_id: run.run_id };
    const { key } = await newKey(it.api, it.project.id, { scopes: ['prompts:read', 'prompts:write'] });
    expectProblem(await it.api.call(operation, { key, params }), 403, 'insufficient_scope');
    const { token } = await newUser(it.api, { workspaceId: it.project.workspaceId, role: 'viewer' });
    expectProblem(await it.api.call(operation, { token, params }), 403, 'insufficient_role');
  });
});
