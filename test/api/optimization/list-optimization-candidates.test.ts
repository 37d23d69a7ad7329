import { beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { candidateDetailSchema } from '../../../src/domains/optimization/candidate.schema.ts';
import { saveCandidate } from '../../../src/domains/optimization/candidate-store.ts';
import { candidateToEvent } from '../../../src/domains/optimization/event-data.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject } from '../../support/api.ts';
import {
  aCandidate,
  newOptimizablePrompt,
  searchRun,
  seedCandidate,
  takeRun,
  useOptimizationApi,
} from '../../support/optimization.ts';
import type { WirePage } from '../../support/prompt-api.ts';

type Candidate = z.infer<typeof candidateDetailSchema>;

const it = useOptimizationApi();
let run: { run_id: string; prompt_id: string };
let val: readonly { key: string }[];

beforeAll(async () => {
  run = await it.newRun();
  ({ val } = await searchRun(it.api, it.project, run));
});

const list = (query: Record<string, string | number> = {}, of = run) =>
  it.call<WirePage<Candidate>>('listOptimizationCandidates', of.prompt_id, { params: { run_id: of.run_id }, query });
const get = (id: string) =>
  it.call<Candidate>('getOptimizationCandidate', run.prompt_id, { params: { run_id: run.run_id, candidate_id: id } });

test('a replay that reports a candidate again without its scores changes nothing', async () => {
  const other = await it.newRun({ promptId: (await it.newPrompt()).id });
  const { lease } = await takeRun(it.api, it.project, other);
  const seed = seedCandidate;
  const save = (candidate: typeof seed) => saveCandidate(it.api.postgres, lease, candidate);
  expect(await save({ ...seed, val: null })).toBe(true);
  expect(await save(seed)).toBe(true);
  expect(await save({ ...seed, val: null })).toBe(false);
  expect(await save(seed)).toBe(false);
  expect((await list({}, other)).body.data).toMatchObject([{ id: 'seed', val: seed.val }]);
});

describe('200', () => {
  test('candidates come in their order, the prompt as it was first', async () => {
    const { status, body, text } = await list();
    expect(status, text).toBe(200);
    expect(body.data.map(({ candidate_id, status: each, origin }) => [candidate_id, each, origin])).toEqual([
      ['seed', 'pool', 'seed'],
      ['c1', 'rejected_gate', 'reflect'],
      ['c2', 'pool', 'reflect'],
    ]);
    expect(body.data[1]).toMatchObject({
      ...{ id: 'c1', parents: ['seed'], reject_reason: 'It is not better on the batch.', iteration: 1, val: null },
      ...{ template: 'Answer no.\n{{question}}', minibatch: { before: 0.25, after: 0.75 } },
    });
    expect(body.data[0]).not.toHaveProperty('rows');
  });

  test('one status can be chosen, and pages continue where they ended', async () => {
    const { body } = await list({ status: 'pool', limit: 1 });
    expect(body.data.map(({ id }) => id)).toEqual(['seed']);
    const next = await list({ status: 'pool', limit: 1, cursor: body.page.next_cursor ?? '' });
    expect(next.body.data.map(({ id }) => id)).toEqual(['c2']);
    expect(next.body.page).toMatchObject({ next_cursor: null, has_more: false });
  });

  test('scores by row are there on request; a row with an error has none', async () => {
    const { body } = await list({ include: 'rows', limit: 100 });
    expect(body.page.limit).toBe(20);
    expect(body.data[0]?.rows).toEqual([]);
    const rows = new Map(body.data[2]?.rows?.map(({ row_key, split, score }) => [row_key, [split, score]]));
    expect(rows.size).toBe(val.length);
    expect(rows.get(val[0]?.key ?? '')).toEqual(['val', null]);
    expect(rows.get(val[1]?.key ?? '')).toEqual(['val', 1]);
  });

  test('one candidate has its scores and its difference to the prompt', async () => {
    const { status, body } = await get('c2');
    expect(status).toBe(200);
    expect(body.rows).toHaveLength(val.length);
    expect(body.diff).toContain('-Answer yes or no.');
    expect((await get('seed')).body.diff).toBe('');
  });

  test('a reason and a hypothesis are stored up to 2,000 characters', async () => {
    const other = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, other);
    const long = { rejectReason: 'r'.repeat(300_000), hypothesis: 'h'.repeat(300_000) };
    await saveCandidate(it.api.postgres, lease, aCandidate('c', 'x', long));
    const kept = { reject_reason: `${'r'.repeat(2_000)}…`, hypothesis: `${'h'.repeat(2_000)}…` };
    expect((await list({}, other)).body.data).toMatchObject([kept]);
    const { reject_reason } = candidateToEvent(aCandidate('c', 'x', long));
    expect(reject_reason).toBe(kept.reject_reason);
  });

  test('a page of long reasons, as versions before stored them, is shorter', async () => {
    const other = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, other);
    for (const id of ['c0', 'c1', 'c2']) await saveCandidate(it.api.postgres, lease, aCandidate(id, id));
    const long = { reject_reason: 'r'.repeat(1_000_000), hypothesis: 'h'.repeat(1_000_000) };
    await it.api.postgres('optimization_candidates').where({ run_id: other.run_id }).update(long);
    const { body } = await list({}, other);
    expect(body.data.map(({ id }) => id)).toEqual(['c0', 'c1']);
    expect(body.page.has_more).toBe(true);
  });

  test('a page of long texts is shorter, and none is lost', async () => {
    const long = await it.newRun();
    const { lease } = await takeRun(it.api, it.project, long);
    for (let index = 0; index < 6; index++) {
      await saveCandidate(it.api.postgres, lease, aCandidate(`l${index}`, `${index}${'x'.repeat(1_500_000)}`));
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body }: { body: WirePage<Candidate> } = await list(cursor === null ? {} : { cursor }, long);
      expect(body.data.length).toBeLessThanOrEqual(2);
      seen.push(...body.data.map(({ id }) => id));
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(['l0', 'l1', 'l2', 'l3', 'l4', 'l5']);
  });
});

describe('400', () => {
  test('an unknown status or include, and a cursor of other filters', async () => {
    expectProblem((await list({ status: 'good' })) as never, 400, 'invalid_parameter');
    expectProblem((await list({ include: 'all' })) as never, 400, 'invalid_parameter');
    const cursor = (await list({ limit: 1 })).body.page.next_cursor ?? '';
    expectProblem((await list({ cursor, status: 'pool' })) as never, 400, 'cursor_mismatch');
  });
});

describe('404', () => {
  test('an unknown run, an unknown candidate, and the run of another project', async () => {
    expectProblem((await list({}, { ...run, run_id: newId('opt') })) as never, 404, 'run_not_found');
    expectProblem((await get('nobody')) as never, 404, 'candidate_not_found');
    const project = await newProject(it.api);
    const { id: prompt_id } = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id, run_id: run.run_id, candidate_id: 'c2' };
    for (const operation of ['listOptimizationCandidates', 'getOptimizationCandidate']) {
      expectProblem(await it.api.call(operation, { key: project.key, params }), 404, 'run_not_found');
    }
  });
});
