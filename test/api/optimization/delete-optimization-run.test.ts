import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import type { WireItem } from '../../support/prompt-api.ts';
import { useRunActions } from '../../support/run-actions.ts';

const use = useRunActions();
const { it, apply, remove, auditOf, completedRun } = use;

describe('204', () => {
  test('the run is gone with everything of it, and the audit log has it', async () => {
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
});

describe('409', () => {
  test('a run that has not ended', async () => {
    expectProblem(await remove(await it.newRun()), 409, 'run_not_terminal');
  });
});

describe('403', () => {
  test('a key without optimize:run, and a viewer', () => use.expectForbidden('deleteOptimizationRun'));
});

describe('404', () => {
  test('an unknown run, and the run of another project', () => use.expectUnknown('deleteOptimizationRun'));
});
