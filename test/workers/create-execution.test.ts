import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import { postExecution, storeExecution } from '../support/post-execution.ts';
import { aModelCall, newSpanId, newTraceId, nowNano } from '../support/spans.ts';
import { getExecution, sendSpans, untilExecution } from '../support/traces.ts';

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

const iso = (unixNano: bigint) => new Date(Number(unixNano / 1_000_000n)).toISOString();

describe('an execution posted as JSON', () => {
  test('and the same sent as OTLP are the same span', async () => {
    const [posted, sent] = [newTraceId(), newTraceId()];
    const spanId = newSpanId();
    const [startUnixNano, endUnixNano] = [nowNano(-1_000), nowNano()];
    const attributes = { 'session.id': 's', 'user.id': 'u', 'gen_ai.usage.cost': 0.5 };
    await sendSpans(api, project.key, [
      aModelCall(10, 5, { traceId: sent, spanId, startUnixNano, endUnixNano, statusCode: 1, attributes }),
    ]);
    await storeExecution(api, project, {
      trace_id: posted,
      span_id: spanId,
      name: 'chat gpt-4o',
      model: 'gpt-4o',
      provider: 'openai',
      started_at: iso(startUnixNano),
      ended_at: iso(endUnixNano),
      usage: { input_tokens: 10, output_tokens: 5 },
      cost: 0.5,
      session_id: 's',
      user_id: 'u',
    });
    const { trace_id: _, spans, ...execution } = await untilExecution(api, project, sent, ({ complete }) => complete);
    const { body } = await getExecution(api, project, posted);
    expect(body).toMatchObject(execution);
    // What each says of its origin: raw attributes, the tracer, the model in the words of a request.
    const strip = ({
      attributes: _a,
      attribute_types: _t,
      scope: _s,
      request_model: _m,
      params: _p,
      ...rest
    }: object & Record<string, unknown>) => rest;
    expect(body.spans.map((span) => ({ ...strip(span), otel_kind: 'client' }))).toEqual(spans.map(strip));
  });

  test('and sent as OTLP later with the same ids is replaced by it, and the other way round', async () => {
    const traceId = newTraceId();
    const spanId = newSpanId();
    const post = (name: string) => storeExecution(api, project, { trace_id: traceId, span_id: spanId, name });
    await post('posted');
    await sendSpans(api, project.key, [aModelCall(1, 1, { traceId, spanId, name: 'sent' })]);
    const sent = await untilExecution(api, project, traceId, ({ name }) => name === 'sent');
    expect(sent).toMatchObject({ span_count: 1, usage: { total_tokens: 2 } });
    await post('posted again');
    const { body } = await getExecution(api, project, traceId);
    expect(body).toMatchObject({ name: 'posted again', span_count: 1, usage: { total_tokens: 0 } });
  });

  test('many times at once is as many spans as once, in the spans and in the summary', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 20 }, (_, index) => ({ name: `s${index}`, kind: 'tool' }));
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        postExecution(api, project, { trace_id: traceId, spans }, { Prefer: 'wait=10' }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const where = `WHERE project_id = '${project.id}' AND lower(hex(trace_id)) = '${traceId}'`;
    const count = (query: string) => allRows<{ n: number }>(clickhouse, query);
    expect(await count(`SELECT toUInt32(count()) AS n FROM spans FINAL ${where}`)).toEqual([{ n: 21 }]);
    expect(await count(`SELECT span_count AS n FROM executions FINAL ${where}`)).toEqual([{ n: 21 }]);
  });
});
