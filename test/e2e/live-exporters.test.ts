import { fileURLToPath } from 'node:url';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { runApp } from '../support/client-app.ts';
import { type ExporterName, exporters, liveClient, recordMany, recordTrace } from '../support/live-client.ts';
import { type Interception, type ProxiedRequest, startProxy, type TestProxy } from '../support/proxy.ts';
import { listExecutions, untilExecution, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

const names = Object.keys(exporters) as ExporterName[];
const spansPerTrace = 3;

let api: TestApi;
/** Takes nothing, for it has no queue: nobody listens on port 1. */
let queuelessApi: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  queuelessApi = await startApi({ apiKeyPepper: api.config.apiKeyPepper, redisUrl: 'redis://127.0.0.1:1' });
  project = await newProject(api);
});
afterAll(() => Promise.all([api?.close(), queuelessApi?.close()]));

/** What the SDK says of its own trouble, from `warn` on. */
function keepDiagnostics(): string[] {
  const said: string[] = [];
  const keep = (...parts: unknown[]) => void said.push(parts.map(String).join(' '));
  diag.setLogger(
    { error: keep, warn: keep, info() {}, debug() {}, verbose() {} },
    {
      logLevel: DiagLogLevel.WARN,
      suppressOverrideMessage: true,
    },
  );
  return said;
}
afterEach(() => diag.disable());

async function withProxy<T>(
  intercept: (request: ProxiedRequest, index: number) => Interception | undefined,
  work: (proxy: TestProxy) => Promise<T>,
): Promise<T> {
  const proxy = await startProxy(api.url, intercept);
  try {
    return await work(proxy);
  } finally {
    await proxy.close();
  }
}

const clientOf = (name: ExporterName, url: string, key: string, compressed = false) =>
  liveClient(name, {
    url: `${url}/api/v1/traces`,
    headers: { 'X-API-Key': key },
    // An enum of a package that the exporters do not export.
    ...(compressed && { compression: 'gzip' as never }),
  });

const variants = names.flatMap((name) => [false, true].map((compressed) => ({ name, compressed })));

describe.each(variants)('exporter-trace-otlp-$name (gzip: $compressed)', ({ name, compressed }) => {
  test('its spans arrive whole, and it has nothing to complain of', async () => {
    const said = keepDiagnostics();
    const client = clientOf(name, api.url, project.key, compressed);
    const traceId = recordTrace(client);
    await client.end();
    const execution = await untilStored(api, project, traceId, spansPerTrace);
    expect(said).toEqual([]);
    expect(execution).toMatchObject({
      name: 'POST /ask',
      complete: true,
      session_id: 'live',
      error_count: 1,
      models: ['gpt-4o'],
      providers: ['openai'],
      usage: { input_tokens: 42, output_tokens: 17 },
    });
    const tool = execution.spans.find(({ span_name }) => span_name === 'search');
    expect(tool).toMatchObject({
      status: 'error',
      error: { type: 'Error', message: 'nothing found', stack: expect.stringContaining('live-client') },
      scope: { name: 'shop', version: '1.2.3' },
      events: [{ name: 'exception' }],
    });
  });
});

describe.each(names)('exporter-trace-otlp-%s', (name) => {
  test('after a 503 of ours it sends the same bytes again, and nothing is stored twice', async () => {
    const refuseFirst = (_: ProxiedRequest, index: number) =>
      index === 0 ? { forwardTo: queuelessApi.url } : undefined;
    await withProxy(refuseFirst, async (proxy) => {
      const client = clientOf(name, proxy.url, project.key);
      const traceId = recordTrace(client);
      await client.end();
      const execution = await untilStored(api, project, traceId, spansPerTrace);
      expect(proxy.requests).toHaveLength(2);
      expect(proxy.requests[1]?.body).toEqual(proxy.requests[0]?.body);
      expect([execution.spans.length, execution.usage.input_tokens]).toEqual([spansPerTrace, 42]);
    });
  });

  test('when the answer is lost after the spans were taken it sends again, and nothing is stored twice', async () => {
    const loseFirst = (_: ProxiedRequest, index: number): Interception | undefined =>
      index === 0 ? { loseAnswer: true } : undefined;
    await withProxy(loseFirst, async (proxy) => {
      const client = clientOf(name, proxy.url, project.key);
      const traceId = recordTrace(client);
      await client.end();
      const execution = await untilStored(api, project, traceId, spansPerTrace);
      expect(proxy.requests).toHaveLength(2);
      expect([execution.spans.length, execution.usage.input_tokens]).toEqual([spansPerTrace, 42]);
    });
  });

  test('a 401 of ours is reported and not retried', async () => {
    const said = keepDiagnostics();
    await withProxy(
      () => undefined,
      async (proxy) => {
        const client = clientOf(name, proxy.url, 'pl_wrong');
        recordTrace(client);
        await client.end().catch((error: unknown) => said.push(String(error)));
        expect(proxy.requests).toHaveLength(1);
      },
    );
    expect(said.join()).toMatch(/Unauthorized|401/);
  });

  test('a 403 of ours is reported and not retried', async () => {
    const said = keepDiagnostics();
    const { key } = await newKey(api, project.id, { preset: 'read_only' });
    await withProxy(
      () => undefined,
      async (proxy) => {
        const client = clientOf(name, proxy.url, key);
        recordTrace(client);
        await client.end().catch((error: unknown) => said.push(String(error)));
        expect(proxy.requests).toHaveLength(1);
      },
    );
    expect(said.join()).toMatch(/Forbidden|403/);
  });

  test('a 400 of ours, for a body that is not the gzip it is said to be, is reported and not retried', async () => {
    const said = keepDiagnostics();
    await withProxy(
      () => undefined,
      async (proxy) => {
        const headers = { 'X-API-Key': project.key, 'Content-Encoding': 'gzip' };
        const client = liveClient(name, { url: `${proxy.url}/api/v1/traces`, headers });
        recordTrace(client);
        await client.end().catch((error: unknown) => said.push(String(error)));
        expect(proxy.requests).toHaveLength(1);
      },
    );
    expect(said.join()).toMatch(/Bad Request|400/);
  });

  test('spans beyond the limit of one request are logged as rejected, the others stored, and nothing is sent again', async () => {
    const said = keepDiagnostics();
    const own = await newProject(api);
    await withProxy(
      () => undefined,
      async (proxy) => {
        const options = { url: `${proxy.url}/api/v1/traces`, headers: { 'X-API-Key': own.key } };
        const wholeAtOnce = { scheduledDelayMillis: 60_000, maxQueueSize: 20_000, maxExportBatchSize: 20_000 };
        const client = liveClient(name, options, wholeAtOnce);
        const traceId = recordMany(client, 10_003);
        await client.end();
        await until(`10,000 spans of ${traceId}`, 30_000, async () => {
          const { data } = (await listExecutions(api, own)).body;
          return data.some(({ trace_id, span_count }) => trace_id === traceId && span_count === 10_000);
        });
        expect(proxy.requests).toHaveLength(1);
      },
    );
    expect(said.join()).toMatch(/partial success.*rejectedSpans\D+3\D.*10000 spans/is);
  });

  test('what was accepted but bent is logged as a partial success, and not sent again', async () => {
    const said = keepDiagnostics();
    await withProxy(
      () => undefined,
      async (proxy) => {
        const client = clientOf(name, proxy.url, project.key);
        const traceId = recordTrace(client, { big: 'x'.repeat(1_100_000) });
        await client.end();
        const execution = await untilStored(api, project, traceId, spansPerTrace);
        const root = execution.spans.find(({ parent_span_id }) => parent_span_id === null);
        expect(root?.warnings).toEqual(['attribute_truncated']);
        expect(proxy.requests).toHaveLength(1);
      },
    );
    expect(said.join()).toMatch(/partial success.*truncated/is);
  });
});

describe('an application that is set up by OTEL_* variables alone', () => {
  const script = fileURLToPath(new URL('../support/env-only-app.mjs', import.meta.url));

  test.each([
    ['http/protobuf', 'none'],
    ['http/json', 'gzip'],
  ])('its spans arrive over %s (%s) and its metrics are accepted', async (protocol, compression) => {
    await withProxy(
      () => undefined,
      async (proxy) => {
        const { code, output } = await runApp(script, {
          OTEL_EXPORTER_OTLP_ENDPOINT: `${proxy.url}/api`,
          OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${project.key}`,
          OTEL_SERVICE_NAME: 'env-only',
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_EXPORTER_OTLP_COMPRESSION: compression,
          OTEL_METRICS_EXPORTER: 'otlp',
        });
        expect([code, output]).toEqual([0, expect.stringMatching(/^[0-9a-f]{32}\n/)]);
        const traceId = output.slice(0, 32);
        const execution = await untilExecution(api, project, traceId, ({ span_count }) => span_count === 1);
        expect(execution).toMatchObject({ name: 'env-only work', service: 'env-only' });
        const paths = proxy.requests.map(({ url }) => url);
        expect(paths.filter((path) => path === '/api/v1/traces')).toHaveLength(1);
        expect(paths.filter((path) => path === '/api/v1/metrics').length).toBeLessThanOrEqual(1);
      },
    );
  });
});
