import { describe, expect, test } from 'vitest';
import { pruneRuns } from '../../../src/domains/optimization/jobs.ts';
import { readEventMarks } from '../../../src/domains/optimization/run-event-store.ts';
import { expectProblem } from '../../support/api.ts';
import { finishedRun, type RunWire, runRef } from '../../support/optimization.ts';
import type { WireItem, WirePage } from '../../support/prompt-api.ts';
import { useRunActions } from '../../support/run-actions.ts';

const use = useRunActions();
const { it, apply, cancel, remove, auditOf, completedRun } = use;

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

/** Stores so many calls of a run. */
async function insertCalls({ run_id }: { run_id: string }, count: number): Promise<void> {
  await it.api.postgres.raw(
    `insert into optimization_calls
       (project_id, run_id, call_key, attempt, kind, phase, state, reserved_tokens, reserved_output_tokens, reserved_nano_usd)
     select ?, ?, n::text, 1, 'task', 'search', 'done', 1, 1, 1 from generate_series(1, cast(? as integer)) as n`,
    [it.project.id, run_id, count],
  );
}

/** Returns how many rows each statement on a table deletes while `prune` runs. */
async function slicesOf(table: string, prune: () => Promise<void>): Promise<number[]> {
  const slices: number[] = [];
  const note = (_response: unknown, { sql, response }: { sql: string; response: { rowCount: number } }) => {
    if (sql.startsWith(`delete from "${table}"`)) slices.push(response.rowCount);
  };
  it.api.postgres.on('query-response', note);
  await prune();
  it.api.postgres.off('query-response', note);
  return slices.filter((count) => count > 0);
}

describe('a run with very many rows', () => {
  test('is gone for all readers at once, and its rows are deleted 500 at a time later', async () => {
    const run = await completedRun();
    await insertCalls(run, 1_201);
    const other = await it.newRun({ promptId: run.prompt_id });
    await finishedRun(it.api, it.project, other);
    await insertCalls(other, 1_201);

    expect((await remove(run)).status).toBe(204);
    expect(await it.api.postgres('optimization_calls').where('run_id', run.run_id)).toHaveLength(1_201);
    const readers = [
      ...['getOptimizationRun', 'streamOptimizationEvents', 'getOptimizationReport', 'listOptimizationCandidates'],
      ...['applyOptimizationRun', 'rerunOptimization', 'cancelOptimizationRun', 'deleteOptimizationRun'],
    ];
    for (const operation of readers) {
      const answer = await it.call(operation, run.prompt_id, { params: { run_id: run.run_id } });
      expectProblem(answer, 404, 'run_not_found');
    }
    const candidate = { params: { run_id: run.run_id, candidate_id: 'c2' } };
    expectProblem(await it.call('getOptimizationCandidate', run.prompt_id, candidate), 404, 'run_not_found');
    const { body } = await it.call<WirePage<RunWire>>('listOptimizationRuns', run.prompt_id);
    expect(body).toMatchObject({ data: [{ run_id: other.run_id }], page: { total: 1 } });
    expect(await readEventMarks(it.api.postgres, [runRef(it.project, run)])).toEqual([]);

    expect(await slicesOf('optimization_calls', () => pruneRuns(it.api))).toEqual([500, 500, 201]);
    for (const table of ['rows', 'candidates', 'evaluations', 'events', 'calls']) {
      expect(await it.api.postgres(`optimization_${table}`).where('run_id', run.run_id), table).toEqual([]);
    }
    const left = await it.api.postgres('optimization_runs_with_deleted').where('prompt_id', run.prompt_id).pluck('id');
    expect(left).toEqual([other.run_id]);
    expect(await it.api.postgres('optimization_calls').where('run_id', other.run_id)).toHaveLength(1_201);
  });

  test('and its holdout no longer count as used', async () => {
    const prompt = await it.newPrompt();
    for (let use = 1; use <= 5; use++) {
      const run = await it.newRun({ promptId: prompt.id });
      expect(run.warnings.map(({ code }) => code)).not.toContain('holdout_reused');
      await cancel(run);
      await insertCalls(run, 501);
      expect((await remove(run)).status).toBe(204);
    }
  });
});

describe('412', () => {
  test('the tag of a read before the run was applied, and the run stays', async () => {
    const run = await completedRun();
    const removeBy = (etag: string | null) =>
      it.call('deleteOptimizationRun', run.prompt_id, {
        ...{ params: { run_id: run.run_id }, headers: { 'If-Match': String(etag) } },
      });
    const stale = (await use.read(run)).headers.get('etag');
    await apply(run);
    expectProblem(await removeBy(stale), 412, 'precondition_failed');
    const read = await use.read(run);
    expect(read.status).toBe(200);
    expect((await removeBy(read.headers.get('etag'))).status).toBe(204);
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
