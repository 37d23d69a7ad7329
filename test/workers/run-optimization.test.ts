import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type Optimize, RunFailed } from '../../src/domains/prompt-search/index.ts';
import type { SearchPorts } from '../../src/domains/prompt-search/search/ports.ts';
import { UnavailableError } from '../../src/lib/errors.ts';
import { aCandidate, type RunDetailWire, seedCandidate, useOptimizationApi } from '../support/optimization.ts';
import { runAttempt, untold } from '../support/run-attempt.ts';

const it = useOptimizationApi();
const refOf = ({ run_id: runId }: { run_id: string }) => ({ projectId: it.project.id, runId });

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
  await runAttempt(it.api, refOf(run), async () => expect.unreachable('The search has begun'));
  expect(await read(run)).toMatchObject({
    ...{ status: 'failed', finish_reason: 'error', usage: { calls: 0 } },
    error: { code: 'price_unknown', message: expect.stringContaining('have none: lost-its-price') },
  });
});

describe('the parts of a prompt that get a newer version while it is optimized', () => {
  let made = 0;
  /** Makes the worker read parts again, as it does after some time. */
  const readAgain: (() => void)[] = [];
  const told = { ...untold, onGap: (missed: () => void) => void readAgain.push(missed) };
  /** A prompt with a part whose text names its version, and what changes the part. */
  async function promptWithPart() {
    const [params, slug] = [{ project_id: it.project.id }, `rules-${++made}`];
    const part = { name: slug, slug, template: 'Rules 1' };
    const { id: part_id } = await it.api.admin<{ id: string }>('createPart', { params, body: part }, 201);
    let version = 1;
    const changePart = async () => {
      const body = { template: `Rules ${++version}` };
      await it.api.admin('updatePart', { params: { ...params, part_id }, body }, 200);
      for (const read of readAgain) read();
    };
    const template = (text: string) => `{{> ${slug}}} ${text} {{question}}`;
    const prompt = await it.newPrompt({ template: template('Answer') });
    return { promptId: prompt.id, changePart, template };
  }

  /** Notes what the base becomes, and a candidate after a further change of the part. */
  const renderAround = (change: () => Promise<void>, candidate: string, rendered: unknown[]): Optimize => {
    return async ({ render }, { base, rows: [row] }) => {
      const contents = [base, { type: 'text', template: candidate } as const];
      for (const content of contents) {
        const [message] = await render(content, row?.inputs ?? {});
        rendered.push(message?.content.slice(0, 'Rules 1'.length));
        await change();
      }
      throw new UnavailableError('server_busy', 'The worker stops', { retryAfterS: 1 });
    };
  };

  test('are those of the request, in every attempt, for the base and all candidates', async () => {
    const { promptId, changePart, template } = await promptWithPart();
    const run = refOf(await it.newRun({ promptId }));
    await changePart();
    const rendered: unknown[] = [];
    const search = renderAround(changePart, template('Reply'), rendered);
    for (const _attempt of [1, 2])
      await expect(runAttempt(it.api, run, search, told)).rejects.toThrow('The worker stops');
    expect(rendered).toEqual(['Rules 1', 'Rules 1', 'Rules 1', 'Rules 1']);
  });

  test('are those of the beginning of an attempt, for a run of an older version of the service', async () => {
    const { promptId, changePart, template } = await promptWithPart();
    const run = refOf(await it.newRun({ promptId }));
    const options = it.api.postgres.raw(`options::jsonb - 'part_picks'`);
    await it.api.postgres('optimization_runs').where({ id: run.runId }).update({ options });
    const rendered: unknown[] = [];
    const search = renderAround(changePart, template('Reply'), rendered);
    await expect(runAttempt(it.api, run, search, told)).rejects.toThrow('The worker stops');
    expect(rendered).toEqual(['Rules 1', 'Rules 1']);
  });
});

describe('the best candidate so far', () => {
  const better = aCandidate('c1', 'Answer with yes or no, and nothing else.\n{{question}}');
  /** Reports a candidate that is the best now, as the search does. */
  async function report({ emit }: SearchPorts, candidate: typeof better): Promise<void> {
    const bestVal = candidate.val?.mean ?? 0;
    await emit({ type: 'candidate', candidate });
    await emit({ type: 'score', call: 10, bestVal });
    const progress = { phase: 'search', iteration: 1, bestVal, bestCandidateId: candidate.id } as const;
    await emit({ type: 'progress', progress });
  }
  const failure = new RunFailed('evaluation_failed', 'Three batches failed');
  const bestOf = async (run: { run_id: string; prompt_id: string }) => {
    const { status, best, progress, score_history } = await read(run);
    return [status, best?.candidate_id, progress.best_val, score_history.map(({ best_val }) => best_val)];
  };

  test('is stored together with its score', async () => {
    const run = await it.newRun();
    const seen: unknown[] = [];
    await runAttempt(it.api, refOf(run), async (ports) => {
      await report(ports, seedCandidate);
      seen.push(await bestOf(run));
      throw failure;
    });
    expect(seen).toEqual([['running', 'seed', 0.5, [0.5]]]);
  });

  test('that was found within a second of another stays when the run fails then', async () => {
    const run = await it.newRun();
    await runAttempt(it.api, refOf(run), async (ports) => {
      for (const candidate of [seedCandidate, better]) await report(ports, candidate);
      throw failure;
    });
    expect(await bestOf(run)).toEqual(['failed', 'c1', 0.9, [0.5, 0.9]]);
  });

  test('that was found within a second of another stays when the run is cancelled then', async () => {
    const run = await it.newRun();
    await runAttempt(it.api, refOf(run), async (ports) => {
      for (const candidate of [seedCandidate, better]) await report(ports, candidate);
      await it.call('cancelOptimizationRun', run.prompt_id, { params: { run_id: run.run_id } });
      await once(ports.signal, 'abort');
      throw ports.signal.reason;
    });
    expect(await bestOf(run)).toEqual(['cancelled', 'c1', 0.9, [0.5, 0.9]]);
  });

  test('stays when a run fails in a replay, which has only older ones', async () => {
    const run = await it.newRun();
    const stopped: Optimize = async (ports) => {
      await report(ports, better);
      throw new UnavailableError('server_busy', 'The worker stops', { retryAfterS: 1 });
    };
    await expect(runAttempt(it.api, refOf(run), stopped)).rejects.toThrow('The worker stops');
    await it.api.postgres('optimization_runs').where({ id: run.run_id }).update({ used_calls: 5 });
    await runAttempt(it.api, refOf(run), async (ports) => {
      await report(ports, seedCandidate);
      throw failure;
    });
    expect(await bestOf(run)).toEqual(['failed', 'c1', 0.9, [0.9]]);
  });
});
