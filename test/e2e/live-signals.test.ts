import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProject, startApi, type TestApi } from '../support/api.ts';
import { clientApp, runApp } from '../support/client-app.ts';
import { startProxy } from '../support/proxy.ts';
import { type StubModel, startStubModel } from '../support/stub-model.ts';
import { getExecution, listExecutions } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let model: StubModel;

beforeAll(async () => {
  [api, model] = await Promise.all([startApi(), startStubModel()]);
});
afterAll(() => Promise.all([api?.close(), model?.close()]));

test.each(['http/protobuf', 'http/json'])(
  'an SDK that variables alone configure for three signals over %s says nothing, and its calls have their content',
  async (protocol) => {
    const project = await newProject(api);
    const proxy = await startProxy(api.url, () => undefined);
    const ended = await runApp(clientApp('otel-three-signals.cjs'), {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'none',
      OTEL_EXPORTER_OTLP_ENDPOINT: `${proxy.url}/api`,
      OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${project.key}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      // Of Node itself, about what the packages use.
      NODE_NO_WARNINGS: '1',
    }).finally(() => proxy.close());
    expect(ended).toEqual({ code: 0, output: '' });
    expect(new Set(proxy.requests.map(({ url }) => url))).toEqual(
      new Set(['/api/v1/traces', '/api/v1/logs', '/api/v1/metrics']),
    );
    const spans = await until('the content of two calls', 30_000, async () => {
      const [listed] = (await listExecutions(api, project, { limit: 10 })).body.data;
      if (listed === undefined) return false;
      const { body } = await getExecution(api, project, listed.trace_id);
      const calls = body.spans.filter(({ kind }) => kind === 'llm');
      return calls.length === 2 && calls.every(({ output }) => output !== null) && calls;
    });
    for (const { input, output, log_count: records } of spans) {
      expect(JSON.stringify(input)).toContain('Weather in Paris?');
      expect(JSON.stringify(output)).toContain('It is 18C');
      expect(records).toBeGreaterThan(1);
    }
  },
);
