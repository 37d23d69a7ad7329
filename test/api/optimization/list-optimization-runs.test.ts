import { describe, expect, test } from 'vitest';
import { listRuns } from '../../../src/domains/optimization/run-list-store.ts';
import { newId, type ProjectId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject } from '../../support/api.ts';
import { finishedRun, newOptimizablePrompt, type RunWire, useOptimizationApi } from '../../support/optimization.ts';
import type { WirePage } from '../../support/prompt-api.ts';
import { newUser } from '../../support/users.ts';

const it = useOptimizationApi();

interface RunPage extends WirePage<RunWire> {
  page: WirePage<RunWire>['page'] & { total: number };
}

const list = (promptId: string, query: Record<string, string | number> = {}) =>
  it.call<RunPage>('listOptimizationRuns', promptId, { query });

/** Ends some runs of a prompt, one after the other. Returns their ids, oldest first. */
async function endedRuns(
  promptId: string,
  outcomes: readonly ('improved' | 'failed' | 'cancelled')[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const outcome of outcomes) {
    const run = await it.newRun({ promptId });
    ids.push(run.run_id);
    if (outcome === 'cancelled') {
      await it.call('cancelOptimizationRun', promptId, { params: { run_id: run.run_id } });
    } else {
      const error = { code: 'evaluation_failed', message: 'The endpoint responded with 500' } as const;
      await finishedRun(it.api, it.project, run, outcome === 'failed' ? { state: 'failed', error } : undefined);
    }
  }
  return ids;
}

describe('200', () => {
  test('a run that has ended has its score, what it used and how many candidates became what', async () => {
    const { id } = await it.newPrompt();
    const [runId] = await endedRuns(id, ['improved']);
    const { status, body, text } = await list(id);
    expect(status, text).toBe(200);
    expect(body.page).toEqual({ next_cursor: null, has_more: false, limit: 20, total: 1 });
    expect(body.data[0]).toMatchObject({
      ...{ run_id: runId, id: runId, prompt_id: id, base_version: 1, applied_version: null },
      ...{ status: 'completed', outcome: 'improved', finish_reason: 'budget_calls', algorithm: 'reflective' },
      score: {
        ...{ split: 'holdout', n: 20, base: { mean: 0.5, ci95: [0.4, 0.6] }, best: { mean: 0.9 } },
        delta: { mean: 0.4, p: 0.008 },
      },
      usage: { calls: 0, cost_usd: null, estimated: false },
      delta: {
        ...{ prompt_tokens: 6, output_tokens: -2, cost_per_1k_calls_usd: '0.040000', latency_ms_p50: 12 },
        ci95: { cost_per_1k_calls_usd: ['-0.060000', '0.140000'] },
      },
      candidates: { proposed: 2, invalid: 0, gate_rejected: 1, raced_out: 0, pool: 2 },
      created_by: expect.stringMatching(/^key_/),
    });
    expect(body.data[0]?.finished_at).toMatch(/Z$/);
  });

  test('of a large config, decision or history, only what the list shows is read', async () => {
    const run = await it.newRun({ body: { search: { guidance: 'x'.repeat(4_000) } } });
    await finishedRun(it.api, it.project, run);
    const { postgres } = it.api;
    const read: unknown[] = [];
    const note = (_rows: unknown, { response }: { response: { rows: unknown[] } }) => read.push(...response.rows);
    postgres.on('query-response', note);
    const filters = { projectId: it.project.id as ProjectId, promptId: run.prompt_id };
    const [listed] = await listRuns(postgres, filters, { direction: 'desc', afterId: undefined, limit: 2 });
    postgres.off('query-response', note);
    expect(listed?.run).toMatchObject({ id: run.run_id, config: { algorithm: 'reflective' } });
    expect(JSON.stringify(read).length).toBeLessThan(3_000);
  });

  test('runs can be chosen by status, outcome and algorithm, and counted', async () => {
    const { id } = await it.newPrompt();
    const [improved, failed, cancelled, second] = await endedRuns(id, ['improved', 'failed', 'cancelled', 'improved']);
    const idsOf = async (query: Record<string, string>) =>
      (await list(id, query)).body.data.map(({ run_id }) => run_id);
    expect(await idsOf({})).toEqual([second, cancelled, failed, improved]);
    expect(await idsOf({ sort: 'created_at' })).toEqual([improved, failed, cancelled, second]);
    expect(await idsOf({ status: 'failed' })).toEqual([failed]);
    expect(await idsOf({ outcome: 'improved' })).toEqual([second, improved]);
    expect(await idsOf({ algorithm: 'few_shot' })).toEqual([]);
    expect((await list(id, { outcome: 'improved', limit: 1 })).body.page).toMatchObject({ total: 2, has_more: true });
  });

  test.each(['-created_at', 'created_at'])(
    'pages by %s have every run once, though a run begins in between',
    async (sort) => {
      const { id } = await it.newPrompt();
      const ids = await endedRuns(id, ['cancelled', 'cancelled', 'cancelled', 'cancelled', 'cancelled']);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const query: Record<string, string | number> = { sort, limit: 2, ...(cursor === null ? {} : { cursor }) };
        const { body }: { body: RunPage } = await list(id, query);
        seen.push(...body.data.map(({ run_id }) => run_id));
        if (cursor === null) await endedRuns(id, ['cancelled']);
        cursor = body.page.next_cursor;
      } while (cursor !== null);
      const known = seen.filter((each) => ids.includes(each));
      expect(known).toEqual(sort === 'created_at' ? ids : ids.toReversed());
    },
  );

  test('a viewer may read, and a prompt is also found by its slug', async () => {
    const prompt = await it.newPrompt();
    const [runId] = await endedRuns(prompt.id, ['cancelled']);
    const { token } = await newUser(it.api, { workspaceId: it.project.workspaceId, role: 'viewer' });
    const params = { project_id: it.project.id, prompt_id: prompt.slug };
    const { body } = await it.api.call<RunPage>('listOptimizationRuns', { token, params });
    expect(body.data.map(({ run_id }) => run_id)).toEqual([runId]);
  });
});

describe('400', () => {
  test('an unknown status, sort or parameter, and a cursor of another list', async () => {
    const { id } = await it.newPrompt();
    await endedRuns(id, ['cancelled', 'cancelled']);
    for (const query of [{ status: 'done' }, { sort: 'score' }, { outcome: 'better' }]) {
      expectProblem((await list(id, query)) as never, 400, 'invalid_parameter');
    }
    expectProblem((await list(id, { state: 'queued' })) as never, 400, 'unknown_parameter');
    const cursor = (await list(id, { limit: 1 })).body.page.next_cursor ?? '';
    expectProblem((await list(id, { cursor, status: 'cancelled' })) as never, 400, 'cursor_mismatch');
    expectProblem((await list((await it.newPrompt()).id, { cursor })) as never, 400, 'cursor_mismatch');
    expectProblem((await list(id, { cursor: 'made-up' })) as never, 400, 'invalid_cursor');
  });
});

describe('404', () => {
  test('an unknown prompt, and the prompt of another project', async () => {
    expectProblem((await list(newId('prm'))) as never, 404, 'prompt_not_found');
    const other = await newOptimizablePrompt(it.api, await newProject(it.api));
    expectProblem((await list(other.id)) as never, 404, 'prompt_not_found');
  });
});
