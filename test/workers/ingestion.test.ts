import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { plans } from '../../src/domains/workspaces/index.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import type { SpanInput } from '../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId, nowNano } from '../support/spans.ts';
import {
  getExecution,
  getHierarchy,
  listExecutions,
  sendSpans,
  untilExecution,
  untilStored,
} from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  project = await newProject(api);
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

/** The stored summary of a trace, once it has so many spans. */
async function untilListed(traceId: string, spans: number) {
  return until(`summary of ${traceId}`, 30_000, async () => {
    const { body } = await listExecutions(api, project, { limit: 100 });
    return body.data.find(({ trace_id, span_count }) => trace_id === traceId && span_count === spans);
  });
}

describe('a span id sent twice in one body', () => {
  test.each(['protobuf', 'json'] as const)(
    '%s: is the last of them, in list, detail and hierarchy',
    async (encoding) => {
      const traceId = newTraceId();
      const spanId = newSpanId();
      // The one sent last began earlier, so that no order but that of the body makes it the one that counts.
      const first = {
        traceId,
        spanId,
        name: 'first',
        startUnixNano: nowNano(-50),
        attributes: { 'gen_ai.usage.cost': 1 },
      };
      const second = { ...first, name: 'second', startUnixNano: nowNano(-90), attributes: { 'gen_ai.usage.cost': 2 } };
      await sendSpans(
        api,
        project.key,
        [aSpan(first), aSpan({ traceId, parentSpanId: spanId, startUnixNano: nowNano(-10) }), aSpan(second)],
        encoding,
      );
      const [listed, detail] = [await untilListed(traceId, 2), await getExecution(api, project, traceId)];
      expect([listed, detail.body]).toMatchObject([
        { name: 'second', span_count: 2 },
        { name: 'second', span_count: 2 },
      ]);
      expect(listed?.cost).toBe(detail.body.cost);
      expect(detail.body.spans).toMatchObject([{ name: 'second' }, { name: 'work' }]);
      const { body } = await getHierarchy(api, project, traceId);
      expect(body.roots).toMatchObject([{ name: 'second', children: [{ name: 'work' }] }]);
    },
  );
});

describe('a trace split over requests', () => {
  test('children first and the root last: the summary is recomputed with every part', async () => {
    const traceId = newTraceId();
    const [rootId, agentId] = [newSpanId(), newSpanId()];
    const zero = nowNano(-60_000);
    const times = (from: bigint, to: bigint) => {
      return { startUnixNano: zero + from * 1_000_000n, endUnixNano: zero + to * 1_000_000n };
    };
    const leaf = aModelCall(42, 17, {
      traceId,
      parentSpanId: agentId,
      ...times(20n, 40n),
      attributes: { 'session.id': 'of the leaf', 'user.id': 'of the leaf' },
    });
    await sendSpans(api, project.key, [leaf]);
    expect(await untilListed(traceId, 1)).toMatchObject({
      name: 'chat gpt-4o',
      complete: false,
      session_id: 'of the leaf',
      usage: { input_tokens: 42, output_tokens: 17 },
    });

    // An agent that repeats what its calls used: nothing is counted twice.
    const agent = aSpan({
      traceId,
      spanId: agentId,
      parentSpanId: rootId,
      name: 'agent',
      statusCode: 2,
      ...times(10n, 50n),
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.usage.input_tokens': 42n,
        'gen_ai.usage.output_tokens': 17n,
      },
    });
    await sendSpans(api, project.key, [agent], 'json');
    expect(await untilListed(traceId, 2)).toMatchObject({
      name: 'agent',
      status: 'error',
      error_count: 1,
      complete: false,
      usage: { input_tokens: 42, output_tokens: 17, total_tokens: 59 },
    });

    const root = aSpan({
      traceId,
      spanId: rootId,
      name: 'root',
      statusCode: 1,
      ...times(0n, 100n),
      attributes: { 'session.id': 'of the root', 'user.id': 'of the root' },
    });
    await sendSpans(api, project.key, [root]);
    expect(await untilListed(traceId, 3)).toMatchObject({
      name: 'root',
      status: 'ok',
      error_count: 1,
      complete: true,
      duration_ms: 100,
      session_id: 'of the root',
      user_id: 'of the root',
      models: ['gpt-4o'],
      usage: { input_tokens: 42, output_tokens: 17, total_tokens: 59 },
    });
  });

  test('sent by many requests at once: the summary has every span', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 60 }, () => aModelCall(1, 2, { traceId }));
    await Promise.all(spans.map((span) => sendSpans(api, project.key, [span])));
    expect(await untilListed(traceId, 60)).toMatchObject({ usage: { input_tokens: 60, output_tokens: 120 } });
  });

  test('many traces in one request become as many executions', async () => {
    const spans = Array.from({ length: 400 }, () => aSpan());
    await sendSpans(api, project.key, spans);
    const traceIds = spans.map(({ traceId }) => traceId);
    await Promise.all([0, 199, 399].map((index) => untilStored(api, project, traceIds[index] ?? '')));
    await until('400 summaries', 30_000, async () => {
      const [row] = await allRows<{ n: string }>(
        clickhouse,
        `SELECT count() AS n FROM executions FINAL WHERE project_id = '${project.id}'
         AND lower(hex(trace_id)) IN (${traceIds.map((id) => `'${id}'`).join()})`,
      );
      return row?.n === '400';
    });
  });
});

describe.concurrent('the plan', () => {
  test.each(Object.entries(plans))('%s keeps spans and executions as long as it says: %o', async (plan, expected) => {
    const own = await newProject(api, plan as keyof typeof plans);
    const span = aSpan();
    await sendSpans(api, own.key, [span]);
    await untilStored(api, own, span.traceId);
    for (const table of ['spans', 'executions']) {
      const rows = await until(`row in ${table}`, 30_000, async () => {
        const query = `SELECT retention_days FROM ${table} FINAL WHERE project_id = '${own.id}'`;
        const found = await allRows<{ retention_days: number }>(clickhouse, query);
        return found.length > 0 && found;
      });
      expect(rows).toEqual([{ retention_days: expected.retentionDays }]);
    }
  });
});

describe.concurrent('values at the edges', () => {
  const stored = async (given: Partial<SpanInput>) => {
    const span = aSpan(given);
    await sendSpans(api, project.key, [span]);
    const execution = await untilStored(api, project, span.traceId);
    return { execution, span: execution.spans[0] };
  };

  test('counts up to 2^31 - 1 are exact, also where they add up beyond 32 bits', async () => {
    const traceId = newTraceId();
    const most = 2 ** 31 - 1;
    const calls = Array.from({ length: 5 }, () => aModelCall(most, most, { traceId }));
    await sendSpans(api, project.key, calls);
    const { usage } = await untilStored(api, project, traceId, 5);
    expect(usage).toMatchObject({ input_tokens: 5 * most, output_tokens: 5 * most, total_tokens: 10 * most });
    expect((await untilListed(traceId, 5)).usage).toEqual(usage);
  });

  test.each([
    ['a negative count', -1n],
    ['a count beyond 2^31', 2n ** 40n],
    ['a count of a half', 0.5],
    ['a count that is no number', Number.NaN],
  ])('%s is left out with a warning and kept as sent', async (_what, value) => {
    const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': value };
    const { span, execution } = await stored({ attributes });
    expect(execution).toMatchObject({ usage: { input_tokens: 0 }, cost: null, unpriced_spans: 1 });
    expect(span?.warnings).toContain('bad_token_count');
    expect(span?.attributes).toHaveProperty(['gen_ai.usage.input_tokens']);
  });

  test('an attribute of a megabyte is kept whole', async () => {
    const text = 'ä🦜\u0000'.repeat(100_000);
    const { span } = await stored({ attributes: { text } });
    expect(span?.attributes?.text === text).toBe(true);
  });

  test('a thousand attributes and events, and a hundred links, are kept', async () => {
    const { span } = await stored({
      attributes: Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key.${index}`, BigInt(index)])),
      events: Array.from({ length: 1_000 }, (_, index) => ({ name: `event ${index}` })),
      links: Array.from({ length: 100 }, () => ({ traceId: newTraceId(), spanId: newSpanId() })),
    });
    expect([Object.keys(span?.attributes ?? {}).length, span?.events?.length, span?.links?.length]).toEqual([
      1_000, 1_000, 100,
    ]);
  });

  test('a chain of 3,000 spans is summed up', async () => {
    const traceId = newTraceId();
    const ids = Array.from({ length: 3_000 }, newSpanId);
    const spans = ids.map((spanId, index) =>
      index === 0
        ? aModelCall(1, 1, { traceId, spanId })
        : aModelCall(1, 1, { traceId, spanId, parentSpanId: ids[index - 1] ?? '' }),
    );
    await sendSpans(api, project.key, spans.toReversed());
    const execution = await untilExecution(api, project, traceId, ({ span_count }) => span_count === 3_000);
    expect([execution.complete, execution.usage.input_tokens]).toEqual([true, 3_000]);
  });
});
