import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { clientApp, type EndedApp, runApp } from '../support/client-app.ts';
import { type ProxiedRequest, startProxy } from '../support/proxy.ts';
import { city, clients } from '../support/sdk-clients.ts';
import { spanTree } from '../support/span-tree.ts';
import { chatUsage, embeddingTokens, type StubModel, startStubModel } from '../support/stub-model.ts';
import { type ExecutionDetailWire, getExecution, listExecutions } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let model: StubModel;

beforeAll(async () => {
  [api, model] = await Promise.all([startApi(), startStubModel()]);
});
afterAll(() => Promise.all([api?.close(), model?.close()]));

describe.each(Object.entries(clients))('an application with %s', (_name, client) => {
  const tree = client.tree.trimStart().split('\n');
  let ended: EndedApp;
  let requests: ProxiedRequest[];
  let execution: ExecutionDetailWire;

  beforeAll(async () => {
    const app = clientApp(client.app);
    const project = await newProject(api);
    // Every exporter meets a busy server first, so all that follows holds after a resend as well.
    const proxy = await startProxy(api.url, (_, index) =>
      index === 0 ? { status: 503, headers: { 'Retry-After': '1' } } : undefined,
    );
    ended = await runApp(app, {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'none',
      PROMPTLANE_URL: proxy.url,
      PROMPTLANE_KEY: project.key,
      // Of Node itself, about what the packages use.
      NODE_NO_WARNINGS: '1',
    }).finally(() => proxy.close());
    requests = proxy.requests;
    expect(ended, ended.output).toMatchObject({ code: 0 });
    execution = await untilOnlyExecution(project, tree.length);
  });

  test('ends well and has nothing to say about its exporter', () => {
    expect(ended).toEqual({ code: 0, output: '' });
  });

  test('sends its spans in one request, and after 503 the same bytes again', () => {
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill('POST /api/v1/traces'));
    expect(requests[1]?.body).toEqual(requests[0]?.body);
  });

  test('becomes one whole execution with its caller, models and prompts', () => {
    const { spans, ...summary } = execution;
    // Not the first span: a span and its parent may start in the same millisecond.
    const root = spans.find(({ parent_span_id: parent }) => parent === null);
    expect(spanTree(spans)).toEqual(tree);
    expect(summary).toMatchObject({ complete: true, missing_parents: [], name: root?.name, ...client.execution });
    expect(spans.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  test('has every call counted once, with the cached and reasoning parts that it tells', () => {
    const { chats, chatsWithParts, embeddings, other = { input: 0, output: 0, cached: 0 } } = client;
    const input = chats * chatUsage.input + embeddings * embeddingTokens + other.input;
    const output = chats * chatUsage.output + other.output;
    expect(execution.usage).toEqual({
      input_tokens: input,
      output_tokens: output,
      cache_read_tokens: chatsWithParts * chatUsage.cached + other.cached,
      cache_write_tokens: 0,
      reasoning_tokens: chatsWithParts * chatUsage.reasoning,
      total_tokens: input + output,
    });
  });

  test('shows what was asked and answered, by the model and by the tool', () => {
    const { spans } = execution;
    const conversations = spans.filter(
      ({ kind, input, output }) =>
        kind === 'llm' &&
        /Weather in Paris\?|"hi"/.test(JSON.stringify(input)) &&
        /It is 18C|get_weather|tempC|"hello"/.test(JSON.stringify(output)),
    );
    expect(conversations).toHaveLength(client.conversations);
    const tool = spans.find(({ kind, status }) => kind === 'tool' && status !== 'error');
    expect(tool).toMatchObject({
      name: expect.stringMatching(/^get_weather/),
      input: client.toolInput,
      output: { ...city, tempC: 18 },
    });
  });

  test('has its failures, and the time to the first token where the client tells it', () => {
    const { spans } = execution;
    const failed = spans.filter(({ status }) => status === 'error');
    expect(failed.map(({ error }) => error)).toEqual(client.errors);
    expect(execution.error_count).toBe(client.errors.length);
    const timed = spans.filter(({ ttft_ms }) => ttft_ms !== null);
    expect(timed.map(({ name }) => name)).toEqual(client.timed);
    for (const { ttft_ms: ttft, duration_ms: duration } of timed) {
      expect(ttft).toBeGreaterThan(0);
      expect(ttft).toBeLessThanOrEqual(duration);
    }
  });

  test('keeps the costs that it reports', () => {
    const reported = execution.spans.filter(({ cost_source: source }) => source === 'reported');
    expect(reported.map(({ span_name: name, cost }) => `${name} ${cost}`).toSorted()).toEqual(client.costs ?? []);
  });
});

/** Waits until the project has one execution, whole. */
async function untilOnlyExecution(project: ProjectOfTest, spanCount: number): Promise<ExecutionDetailWire> {
  let last: unknown;
  const found = until(`one execution of ${spanCount} spans`, 30_000, async () => {
    const { data } = (await listExecutions(api, project)).body;
    last = data.map(({ trace_id, span_count }) => ({ trace_id, span_count }));
    const [only] = data;
    return data.length === 1 && only?.span_count === spanCount && only.trace_id;
  });
  const traceId = await found.catch((error: Error) => {
    throw new Error(`${error.message}; last: ${JSON.stringify(last)}`);
  });
  return (await getExecution(api, project, traceId)).body;
}
