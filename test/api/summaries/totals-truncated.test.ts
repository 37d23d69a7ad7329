import { afterAll, beforeAll, expect, test } from 'vitest';
import { summarizeLargeTrace } from '../../../src/domains/summaries/summarize-large-trace.ts';
import { newProject, startApi, type TestApi } from '../../support/api.ts';
import { connectExecutions } from '../../support/executions.ts';
import { newTraceId } from '../../support/spans.ts';
import { storeSpans } from '../../support/stored-spans.ts';
import { getExecution, listExecutions } from '../../support/traces.ts';

/** One more than a detail sums up by itself. */
const spans = 20_001;
const counted = 20_000;
/** Later than the engine's clock, so that what a reconciler finds out meanwhile does not replace it. */
const version = 2n ** 63n;

let api: TestApi;
let store: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  store = connectExecutions(api);
});
afterAll(async () => {
  await store.close();
  await api.close();
});

test('an execution of more spans than are counted says in list and detail that its totals are short', async () => {
  const project = await newProject(api);
  const trace = { projectId: project.id, traceId: newTraceId() };
  const usage = { has_usage: 'true', input_tokens: '1', cost_source: "'reported'", cost_nano_usd: '1000000' };
  const columns = { kind: "'llm'", ...usage };
  await storeSpans(store.clickhouse, project, { traceId: trace.traceId, count: spans, columns });
  const execution = await summarizeLargeTrace(store.clickhouse, { ...trace, version }, counted);
  if (execution === undefined) throw new Error('The trace has no spans');
  await store.store([execution]);

  const expected = {
    totals_truncated: true,
    span_count: spans,
    cost: (counted / 1_000).toFixed(6),
    usage: { input_tokens: counted },
  };
  const { body: page } = await listExecutions(api, project);
  expect(page.data).toMatchObject([{ trace_id: trace.traceId, ...expected }]);
  const { body: detail } = await getExecution(api, project, trace.traceId, { spans: 'none' });
  expect(detail).toMatchObject(expected);
});
