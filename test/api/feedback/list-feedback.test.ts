import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FeedbackWire } from '../../../src/domains/executions/feedback.schema.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { listFeedback, newFeedback } from '../../support/feedback.ts';
import { newSpanId, newTraceId } from '../../support/spans.ts';

let api: TestApi;
let project: ProjectOfTest;
let given: FeedbackWire[];
const [traceId, spanId] = [newTraceId(), newSpanId()];
let promptId: string;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
  const prompt = { name: 'p', type: 'text', template: 'x' };
  const created = await api.admin<{ id: string }>(
    'createPrompt',
    { params: { project_id: project.id }, body: prompt },
    201,
  );
  promptId = created.id;
  const bodies = [
    { target_type: 'execution', trace_id: traceId, value: 1, user_id: 'u-1' },
    { target_type: 'span', trace_id: traceId, span_id: spanId, value: 1 },
    { target_type: 'prompt', prompt_id: promptId, value: 1, name: 'clarity' },
    { target_type: 'session', session_id: 's-1', value: 1 },
    { target_type: 'product', comment: 'nice' },
  ];
  given = [];
  for (const body of bodies) given.unshift(await newFeedback(api, project, body));
});
afterAll(() => api.close());

describe('200', () => {
  test('feedback comes newest first, page by page', async () => {
    expect((await listFeedback(api, project)).data).toEqual(given);
    const seen: FeedbackWire[] = [];
    let next: { cursor?: string } = {};
    do {
      const { data, page } = await listFeedback(api, project, { limit: 2, ...next });
      seen.push(...data);
      next = page.next_cursor === null ? {} : { cursor: page.next_cursor };
    } while (next.cursor !== undefined);
    expect(seen).toEqual(given);
  });

  test('every filter selects its own', async () => {
    const typesOf = async (query: Record<string, string>) =>
      (await listFeedback(api, project, query)).data.map((feedback) => feedback.target_type);
    expect(await typesOf({ target_type: 'product' })).toEqual(['product']);
    expect(await typesOf({ trace_id: traceId.toUpperCase() })).toEqual(['span', 'execution']);
    expect(await typesOf({ span_id: spanId })).toEqual(['span']);
    expect(await typesOf({ prompt_id: promptId })).toEqual(['prompt']);
    expect(await typesOf({ session_id: 's-1' })).toEqual(['session']);
    expect(await typesOf({ user_id: 'u-1' })).toEqual(['execution']);
    expect(await typesOf({ name: 'clarity' })).toEqual(['prompt']);
    expect(await typesOf({ name: 'clarity', user_id: 'u-1' })).toEqual([]);
    const [last] = given;
    expect(await typesOf({ from: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await typesOf({ from: last?.created_at ?? '' })).toContain('product');
    expect(await typesOf({ to: '2020-01-01T00:00:00Z' })).toEqual([]);
  });

  test('another project has its own', async () => {
    expect((await listFeedback(api, await newProject(api))).data).toEqual([]);
  });
});

describe('400', () => {
  test('a cursor of other filters, and unknown parameters', async () => {
    const { page } = await listFeedback(api, project, { limit: 1 });
    const params = { project_id: project.id };
    const query = { cursor: page.next_cursor ?? '', name: 'x' };
    expectProblem(await api.call('listFeedback', { key: project.key, params, query }), 400, 'cursor_mismatch');
    const unknown = await api.call('listFeedback', { key: project.key, params, query: { nme: 'x' } });
    expectProblem(unknown, 400, 'unknown_parameter');
    const wrong = await api.call('listFeedback', { key: project.key, params, query: { trace_id: 'x' } });
    expectProblem(wrong, 400, 'invalid_parameter');
  });
});

describe('one feedback', () => {
  test('is read by its id, and unknown or foreign ones are 404', async () => {
    const [first] = given;
    const params = { project_id: project.id, feedback_id: first?.id ?? '' };
    expect((await api.call('getFeedback', { key: project.key, params })).body).toEqual(first);
    const other = await newProject(api);
    const foreign = { ...params, project_id: other.id };
    expectProblem(await api.call('getFeedback', { key: other.key, params: foreign }), 404, 'feedback_not_found');
    const unknown = { ...params, feedback_id: newId('fbk') };
    expectProblem(await api.call('getFeedback', { key: project.key, params: unknown }), 404, 'feedback_not_found');
  });
});
