import { afterAll, beforeAll } from 'vitest';
import { type Answer, type CallOptions, newProject, type ProjectOfTest, startApi, type TestApi } from './api.ts';

/** A prompt or part as the API returns it. */
export interface WireItem {
  id: string;
  slug: string;
  name: string;
  description: string | null;
  tags: string[];
  type?: 'text' | 'chat';
  version: number;
  latest_version: number;
  labels: string[];
  all_labels: { label: string; version: number }[];
  template?: string;
  messages?: unknown[];
  template_format: string;
  config?: Record<string, unknown> | null;
  input_schema?: Record<string, unknown> | null;
  content_hash: string;
  kind: string;
  parent_version: number | null;
  rolled_back_from: number | null;
  commit_message: string | null;
  author: { type: string; id: string | null };
  created_version?: boolean;
  otel_attributes?: Record<string, string>;
  created_at: string;
  updated_at: string;
}

export interface WirePage<T> {
  data: T[];
  page: { next_cursor: string | null; has_more: boolean; limit: number };
}

export interface PromptApi {
  readonly api: TestApi;
  readonly project: ProjectOfTest;
  /** Calls an operation in the project of the file with its key. `called` is the id or slug of the prompt or part. */
  call<T = WireItem>(operationId: string, called?: string, options?: CallOptions): Promise<Answer<T>>;
  /** Like `call`, but returns the body. The response must be successful. */
  ok<T = WireItem>(operationId: string, called?: string, options?: CallOptions): Promise<T>;
  newPrompt(body?: object): Promise<WireItem>;
  newPart(body?: object): Promise<WireItem>;
}

let counted = 0;

/** Starts the API with a project for one test file. */
export function usePromptApi(): PromptApi {
  let started: { api: TestApi; project: ProjectOfTest } | undefined;
  beforeAll(async () => {
    const api = await startApi();
    started = { api, project: await newProject(api) };
  });
  afterAll(() => started?.api.close());
  const use = () => {
    if (started === undefined) throw new Error('The API is available only within a test');
    return started;
  };
  const it: PromptApi = {
    get api() {
      return use().api;
    },
    get project() {
      return use().project;
    },
    call(operationId, called = '', { params, ...options } = {}) {
      const { api, project } = use();
      const path = { project_id: project.id, prompt_id: called, part_id: called, ...params };
      return api.call(operationId, { key: project.key, ...options, params: path });
    },
    async ok<T>(operationId: string, called?: string, options?: CallOptions) {
      const answer = await it.call<T>(operationId, called, options);
      if (answer.status >= 300) throw new Error(`${operationId} responded with ${answer.status}: ${answer.text}`);
      return answer.body;
    },
    newPrompt: (body = {}) =>
      it.ok('createPrompt', '', { body: { ...newName(), type: 'text', template: 'Hi {{who}}', ...body } }),
    newPart: (body = {}) =>
      it.ok('createPart', '', { body: { ...newName(), template: 'in a {{tone}} tone', ...body } }),
  };
  return it;
}

function newName() {
  counted += 1;
  return { name: `Test ${process.pid} ${counted}` };
}
