import { expect } from 'vitest';
import type { FeedbackWire } from '../../src/domains/executions/feedback.schema.ts';
import type { Answer, ProjectOfTest, Query, TestApi } from './api.ts';

export interface FeedbackPage {
  data: FeedbackWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}

/** Gives feedback with the key of a project. */
export function giveFeedback(api: TestApi, project: ProjectOfTest, body: object): Promise<Answer<FeedbackWire>> {
  return api.call<FeedbackWire>('createFeedback', { key: project.key, body });
}

/** Gives new feedback and returns it. */
export async function newFeedback(api: TestApi, project: ProjectOfTest, body: object): Promise<FeedbackWire> {
  const answer = await giveFeedback(api, project, body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

/** Creates a feedback token for a trace. */
export async function newFeedbackToken(api: TestApi, project: ProjectOfTest, traceId: string): Promise<string> {
  const options = { key: project.key, params: { project_id: project.id }, body: { trace_id: traceId } };
  const answer = await api.call<{ feedback_token: string }>('createFeedbackToken', options);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.feedback_token;
}

/** Lists the feedback of a project with its key. */
export async function listFeedback(api: TestApi, project: ProjectOfTest, query: Query = {}): Promise<FeedbackPage> {
  const params = { project_id: project.id };
  const answer = await api.call<FeedbackPage>('listFeedback', { key: project.key, params, query });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}
