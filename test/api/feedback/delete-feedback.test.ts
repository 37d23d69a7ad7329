import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, newProject, startApi, type TestApi } from '../../support/api.ts';
import { listFeedback, newFeedback } from '../../support/feedback.ts';
import { newTraceId } from '../../support/spans.ts';
import { latestAudit } from '../../support/users.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const body = () => ({ target_type: 'execution', trace_id: newTraceId(), comment: 'by mistake' });

describe('204', () => {
  test('the feedback is gone, and the audit log says who deleted it, without its text', async () => {
    const project = await newProject(api);
    const { id } = await newFeedback(api, project, body());
    const params = { project_id: project.id, feedback_id: id };
    const answer = await api.call('deleteFeedback', { key: project.key, params });
    expect(answer.status).toBe(204);
    expect((await listFeedback(api, project)).data).toEqual([]);
    expect(await latestAudit(api, project.workspaceId)).toMatchObject({
      ...{ actor_type: 'api_key', action: 'feedback.deleted', target_id: id },
      details: { target_type: 'execution', name: 'user_feedback' },
    });
    expectProblem(await api.call('deleteFeedback', { key: project.key, params }), 404, 'feedback_not_found');
  });
});

describe('404', () => {
  test('feedback of another project stays', async () => {
    const [project, other] = [await newProject(api), await newProject(api)];
    const { id } = await newFeedback(api, project, body());
    const params = { project_id: other.id, feedback_id: id };
    expectProblem(await api.call('deleteFeedback', { key: other.key, params }), 404, 'feedback_not_found');
    expect((await listFeedback(api, project)).data).toHaveLength(1);
  });
});
