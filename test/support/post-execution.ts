import type { Answer, ProjectOfTest, TestApi } from './api.ts';

export interface CreatedWire {
  id: string;
  trace_id: string;
  status: 'queued' | 'stored' | 'quarantined';
  links: { self: string; hierarchy: string; timeline: string };
}

/** Sends POST /executions to a project with its key and additional headers. */
export async function postExecution(
  api: TestApi,
  project: Pick<ProjectOfTest, 'id' | 'key'>,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer<CreatedWire>> {
  const response = await fetch(`${api.url}/api/projects/${project.id}/executions`, {
    method: 'POST',
    headers: { 'X-API-Key': project.key, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Posts and waits until the execution is readable. */
export async function storeExecution(api: TestApi, project: ProjectOfTest, body: unknown): Promise<CreatedWire> {
  const answer = await postExecution(api, project, body, { Prefer: 'wait=10' });
  if (answer.status !== 201) throw new Error(`POST /executions responded with ${answer.status}: ${answer.text}`);
  return answer.body;
}
