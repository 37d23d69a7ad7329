import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { FeedbackReads } from '../../../src/domains/feedback/feedback-reads.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions } from '../../support/executions.ts';
import { newFeedback } from '../../support/feedback.ts';
import { storeExecution } from '../../support/post-execution.ts';
import { newSpanId, newTraceId } from '../../support/spans.ts';
import { getExecution, listExecutions } from '../../support/traces.ts';

let api: TestApi;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

/** A project with this many executions. */
async function projectWith(count: number): Promise<{ project: ProjectOfTest; traceIds: string[] }> {
  const project = await newProject(api);
  const stored = Array.from({ length: count }, () => anExecution(project));
  await executions.store(stored);
  return { project, traceIds: stored.map(({ traceId }) => traceId) };
}

const give = (project: ProjectOfTest, traceId: string | undefined, given: object) =>
  newFeedback(api, project, { target_type: 'execution', trace_id: traceId, ...given });

async function scoresIn(project: ProjectOfTest, query: Record<string, string> = {}) {
  const { status, text, body } = await listExecutions(api, project, query);
  expect(status, text).toBe(200);
  return new Map(body.data.map(({ trace_id, feedback_score }) => [trace_id, feedback_score]));
}

describe('feedback_score of a list', () => {
  test('is read while the first feedback of the project is given', async () => {
    const { project, traceIds } = await projectWith(1);
    const reads = new FeedbackReads(api.postgres);
    const note = ({ bindings }: { bindings: unknown[] }) => bindings.includes(project.id) && reads.note(project.id);
    api.postgres.on('query', note);
    onTestFinished(() => void api.postgres.off('query', note));
    expect(await reads.scoresOf({ projectId: project.id, workspaceId: project.workspaceId }, traceIds)).toEqual(
      new Map(),
    );
    await give(project, traceIds[0], { rating: 'up' });
    expect(await reads.scoresOf({ projectId: project.id, workspaceId: project.workspaceId }, traceIds)).toEqual(
      new Map([[traceIds[0], 1]]),
    );
  });

  test('is the mean over the execution and its spans, and null without a score', async () => {
    const { project, traceIds } = await projectWith(4);
    const [first, second, third, fourth] = traceIds;
    // The list is read before, so that the first feedback must become visible.
    expect([...(await scoresIn(project)).values()]).toEqual([null, null, null, null]);
    await give(project, first, { rating: 'up' });
    await give(project, first, { rating: 'down', user_id: 'u' });
    await give(project, first, { value: 0.25, target_type: 'span', span_id: newSpanId() });
    await give(project, second, { comment: 'no score' });
    await give(project, third, { target_type: 'session', session_id: 's', rating: 'up' });
    await give(project, fourth, { rating: 1 });
    const scores = await scoresIn(project);
    expect(scores.get(first ?? '')).toBeCloseTo(1.25 / 3, 12);
    expect([second, third, fourth].map((id) => scores.get(id ?? ''))).toEqual([null, null, 0]);
  });

  test('is there only when it is asked for', async () => {
    const { project, traceIds } = await projectWith(1);
    await give(project, traceIds[0], { rating: 'up' });
    const { body } = await listExecutions(api, project, { fields: 'trace_id' });
    expect(body.data).toEqual([{ trace_id: traceIds[0] }]);
    expect((await listExecutions(api, project, { fields: 'feedback_score' })).body.data).toEqual([
      { feedback_score: 1 },
    ]);
  });

  test('does not come from another project with the same trace', async () => {
    const { project, traceIds } = await projectWith(1);
    await give(project, traceIds[0], { rating: 'up' });
    const other = await newProject(api);
    await executions.store([anExecution(other, { traceId: traceIds[0] ?? '' })]);
    await give(other, newTraceId(), { rating: 'up' });
    expect([...(await scoresIn(other)).values()]).toEqual([null]);
  });
});

describe('one execution', () => {
  test('contains its feedback, newest first, with what came before its trace', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const early = await give(project, traceId, { rating: 'up' });
    await storeExecution(api, project, { trace_id: traceId, name: 'x' });
    const later = await give(project, traceId, { target_type: 'span', span_id: newSpanId(), value: 0.5 });
    await give(project, traceId, { target_type: 'product', name: newId('evt'), comment: 'not of the execution' });
    const { body } = await getExecution(api, project, traceId);
    expect([body.feedback, body.feedback_score]).toEqual([[later, early], 0.75]);
  });

  test('without feedback has an empty list', async () => {
    const project = await newProject(api);
    const { trace_id: traceId } = await storeExecution(api, project, { name: 'x' });
    const { body } = await getExecution(api, project, traceId);
    expect([body.feedback, body.feedback_score]).toEqual([[], null]);
  });

  test('contains at most 100, and the score of all', async () => {
    const project = await newProject(api);
    const { trace_id: traceId } = await storeExecution(api, project, { name: 'x' });
    await give(project, traceId, { rating: 'up', user_id: 'first' });
    await api.postgres('feedback').insert(
      Array.from({ length: 119 }, (_, index) => ({
        ...{ id: newId('fbk'), project_id: project.id, target_type: 'execution', target_key: traceId },
        ...{ trace_id: traceId, name: 'n', user_id: `u${index}`, rating: 'down', author_type: 'admin' },
      })),
    );
    const { body } = await getExecution(api, project, traceId);
    expect([body.feedback.length, body.feedback_score]).toEqual([100, 1 / 120]);
  });
});

describe('has_feedback', () => {
  const filter = (op: string, value: unknown) => ({ filter: JSON.stringify({ field: 'has_feedback', op, value }) });

  test('selects the executions with feedback, or the others, in every form', async () => {
    const { project, traceIds } = await projectWith(3);
    const [first = '', second = '', third = ''] = traceIds;
    await give(project, first, { comment: 'x' });
    await give(project, second, { target_type: 'span', span_id: newSpanId(), rating: 'up' });
    await give(project, third, { target_type: 'session', session_id: 's', rating: 'up' });
    const idsIn = async (query: Record<string, string>) => [...(await scoresIn(project, query)).keys()].sort();
    const [those, others, all] = [[first, second].sort(), [third], [...traceIds].sort()];
    expect(await idsIn({ has_feedback: 'true' })).toEqual(those);
    expect(await idsIn({ has_feedback: 'false' })).toEqual(others);
    expect(await idsIn(filter('eq', true))).toEqual(those);
    expect(await idsIn(filter('ne', true))).toEqual(others);
    expect(await idsIn(filter('in', [true, false]))).toEqual(all);
    expect(await idsIn(filter('nin', [false]))).toEqual(those);
    expect(await idsIn(filter('exists', true))).toEqual(all);
    expect(await idsIn(filter('exists', false))).toEqual([]);
    const not = { filter: JSON.stringify({ not: { field: 'has_feedback', op: 'eq', value: true } }) };
    expect(await idsIn(not)).toEqual(others);
    const { body } = await listExecutions(api, project, { has_feedback: 'true', include_total: 'true', limit: 1 });
    expect([body.page.total, body.data.length]).toEqual([2, 1]);
    const rest = await listExecutions(api, project, {
      ...{ has_feedback: 'true', include_total: 'true', limit: 1, cursor: body.page.next_cursor ?? '' },
    });
    expect([body.data[0]?.trace_id, rest.body.data[0]?.trace_id].sort()).toEqual(those);
  });

  test('has none in a project without feedback', async () => {
    const { project, traceIds } = await projectWith(1);
    expect((await scoresIn(project, { has_feedback: 'true' })).size).toBe(0);
    expect([...(await scoresIn(project, { has_feedback: 'false' })).keys()]).toEqual(traceIds);
    const ever = { from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' };
    await give(project, newTraceId(), { rating: 'up' });
    expect([...(await scoresIn(project, { has_feedback: 'false', ...ever })).keys()]).toEqual(traceIds);
  });

  test('finds among 10,000 executions with feedback, and is refused above', async () => {
    const { project, traceIds } = await projectWith(2);
    const [first = ''] = traceIds;
    await give(project, first, { rating: 'up' });
    const rows = Array.from({ length: 9_999 }, () => {
      const traceId = newTraceId();
      const target = { target_type: 'execution', target_key: traceId, trace_id: traceId };
      return { id: newId('fbk'), project_id: project.id, ...target, name: 'n', user_id: '', author_type: 'admin' };
    });
    await api.postgres.batchInsert('feedback', rows, 3_000);
    expect([...(await scoresIn(project, { has_feedback: 'true' })).keys()]).toEqual([first]);
    expect((await scoresIn(project, { has_feedback: 'false' })).size).toBe(1);
    const leaf = { field: 'has_feedback', op: 'eq', value: true };
    const many = { filter: JSON.stringify({ or: Array.from({ length: 10 }, () => leaf) }) };
    expect([...(await scoresIn(project, many)).keys()]).toEqual([first]);
    await give(project, newTraceId(), { rating: 'up' });
    const query = { has_feedback: 'true' };
    const refused = await api.call('listExecutions', { key: project.key, params: { project_id: project.id }, query });
    const problem = expectProblem(refused, 400, 'invalid_parameter');
    expect(problem.detail).toContain('10000');
  });
});
