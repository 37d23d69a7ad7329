import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { limitedProject } from '../../support/limits.ts';
import {
  anyValue,
  choiceRecord,
  type LogInput,
  logBody,
  messageRecord,
  postSignal,
  sendLogs,
} from '../../support/logs.ts';
import { encodeLogs } from '../../support/otlp-encode.ts';
import { aModelCall, newSpanId, newTraceId } from '../../support/spans.ts';
import {
  contentTypes,
  decodeStatus,
  getExecution,
  sendSpans,
  untilExecution,
  untilListed,
} from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

/** A model call without content, and the records of its question and its answer. */
function aCall() {
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  const time = { timeUnixNano: '1769851800000000000' };
  return {
    ids,
    span: aModelCall(1, 1, ids),
    records: [
      messageRecord('user', 'Where is my parcel?', { ...ids, ...time }),
      choiceRecord('It is in Bonn.', { ...ids, timeUnixNano: '1769851801000000000' }),
    ],
  };
}

const asked = [{ role: 'user', parts: [{ type: 'text', content: 'Where is my parcel?' }] }];
const answered = [{ role: 'assistant', parts: [{ type: 'text', content: 'It is in Bonn.' }], finish_reason: 'stop' }];

/** Waits until the only span of the trace has as many records, and returns it. */
async function untilJoined(traceId: string, records: number) {
  const isJoined = ({ spans }: { spans: { log_count: number }[] }) => spans[0]?.log_count === records;
  const { spans } = await untilExecution(api, project, traceId, isJoined);
  return spans[0];
}

describe('200', () => {
  test('records before their span: the span is stored with its content', async () => {
    const { ids, span, records } = aCall();
    await sendLogs(api, project.key, records);
    await sendSpans(api, project.key, [span]);
    expect(await untilJoined(ids.traceId, 2)).toMatchObject({ input: asked, output: answered });
  });

  test('records after their span: it gets its content, and so does the list', async () => {
    const { ids, span, records } = aCall();
    await sendSpans(api, project.key, [span]);
    await untilListed(api, project, ids.traceId);
    await sendLogs(api, project.key, records);
    expect(await untilJoined(ids.traceId, 2)).toMatchObject({ input: asked, output: answered });
    const listed = await untilListed(api, project, ids.traceId, ({ output_preview: output }) => output !== null);
    expect(listed).toMatchObject({ input_preview: 'Where is my parcel?', output_preview: 'It is in Bonn.' });
  });

  test('a span that is received again, changed, keeps its content', async () => {
    const { ids, span, records } = aCall();
    await sendLogs(api, project.key, records);
    await sendSpans(api, project.key, [span]);
    await untilJoined(ids.traceId, 2);
    await sendSpans(api, project.key, [{ ...span, name: 'sent again' }]);
    const again = await untilExecution(api, project, ids.traceId, ({ spans }) => spans[0]?.span_name === 'sent again');
    expect(again.spans[0]).toMatchObject({ log_count: 2, input: asked, output: answered });
  });

  test('the same request again, compressed or not, adds nothing', async () => {
    const { ids, span, records } = aCall();
    await sendSpans(api, project.key, [span]);
    const body = logBody(records);
    const headers = { 'Content-Type': contentTypes.json, 'Content-Encoding': 'gzip' };
    await postSignal(api, 'logs', project.key, body);
    await postSignal(api, 'logs', project.key, Buffer.from(gzipSync(body)), headers);
    await sendLogs(api, project.key, [...records, messageRecord('user', 'And now?', ids)]);
    const joined = await untilJoined(ids.traceId, 3);
    expect(joined).toMatchObject({ input: [...asked, { role: 'user' }], output: answered });
  });

  test('equal records of one request all count', async () => {
    const { ids, span } = aCall();
    const again = messageRecord('user', 'Again.', { ...ids, timeUnixNano: '1' });
    await sendLogs(
      api,
      project.key,
      Array.from({ length: 117 }, () => again),
    );
    await sendSpans(api, project.key, [span]);
    expect((await untilJoined(ids.traceId, 117))?.input).toHaveLength(117);
  });

  test('include=logs shows the records as sent, in their order, and only then', async () => {
    const { ids, span, records } = aCall();
    const line: LogInput = {
      ...{ ...ids, timeUnixNano: '1769851800500000000', observedTimeUnixNano: '1769851800600000000' },
      ...{ severityNumber: 17, severityText: 'ERROR', body: anyValue('model was slow') },
      attributes: [{ key: 'attempt', value: { intValue: '2' } }],
    };
    await sendLogs(api, project.key, [...records, line]);
    await sendSpans(api, project.key, [span]);
    await untilJoined(ids.traceId, 3);
    const { body } = await getExecution(api, project, ids.traceId, { include: 'input,logs' });
    const logs = body.spans[0]?.logs;
    expect(logs?.map(({ event_name }) => event_name)).toEqual(['gen_ai.user.message', null, 'gen_ai.choice']);
    expect(logs?.[1]).toEqual({
      time: '2026-01-31T09:30:00.500Z',
      observed_time: '2026-01-31T09:30:00.600Z',
      event_name: null,
      severity_number: 17,
      severity_text: 'ERROR',
      body: 'model was slow',
      attributes: { attempt: 2 },
      dropped_attributes_count: 0,
      scope: { name: 'test', version: '1', attributes: {}, dropped_attributes_count: 0, schema_url: null },
    });
    expect(body.status).not.toBe('error');
    const without = await getExecution(api, project, ids.traceId);
    expect(without.body.spans[0]).not.toHaveProperty('logs');
  });

  test('lines of DEBUG and below are not kept, other lines are', async () => {
    const { ids, span } = aCall();
    const line = (severityNumber: number) => ({ ...ids, severityNumber, body: anyValue(`line ${severityNumber}`) });
    await sendLogs(api, project.key, [1, 5, 8, 9, 17, 0].map(line));
    await sendSpans(api, project.key, [span]);
    expect(await untilJoined(ids.traceId, 3)).toMatchObject({ input: null, output: null });
  });

  test('the evaluation of a trace is shown with its root', async () => {
    const { ids, span } = aCall();
    const attributes = [
      { key: 'gen_ai.evaluation.name', value: { stringValue: 'helpful' } },
      { key: 'gen_ai.evaluation.score.value', value: { doubleValue: 0.5 } },
    ];
    const record = { traceId: ids.traceId, eventName: 'gen_ai.evaluation.result', attributes };
    await postSignal(api, 'logs', project.key, logBody([record]));
    await sendSpans(api, project.key, [span]);
    const execution = await untilExecution(
      api,
      project,
      ids.traceId,
      ({ spans }) => spans[0]?.evaluations.length === 1,
    );
    expect(execution.spans[0]?.evaluations).toEqual([
      expect.objectContaining({ name: 'helpful', score: 0.5, target: 'trace' }),
    ]);
  });

  test('the evaluation of a trace moves to whichever root is the earliest, and back', async () => {
    const traceId = newTraceId();
    const [a, b] = [newSpanId(), newSpanId()];
    const attributes = [
      { key: 'gen_ai.evaluation.name', value: { stringValue: 'helpful' } },
      { key: 'gen_ai.evaluation.score.value', value: { doubleValue: 0.5 } },
    ];
    const at = (startUnixNano: bigint) => ({ startUnixNano, endUnixNano: 1_769_851_802_000_000_000n });
    const early = 1_769_851_800_000_000_000n;
    const shownOn = (spanId: string) =>
      untilExecution(api, project, traceId, ({ spans }) =>
        spans.every((span) => span.evaluations.length === (span.span_id === spanId ? 1 : 0)),
      );
    await sendLogs(api, project.key, [{ traceId, eventName: 'gen_ai.evaluation.result', attributes }]);
    await sendSpans(api, project.key, [aModelCall(1, 1, { traceId, spanId: a, ...at(early + 1n) })]);
    await shownOn(a);
    await sendSpans(api, project.key, [aModelCall(1, 1, { traceId, spanId: b, ...at(early) })]);
    await untilExecution(api, project, traceId, ({ spans }) => spans.length === 2);
    await shownOn(b);
    await sendSpans(api, project.key, [aModelCall(1, 1, { traceId, spanId: b, parentSpanId: a, ...at(early) })]);
    await shownOn(a);
  });

  test('over the limits of a span, its answer and the newest questions are kept', async () => {
    const { ids, span } = aCall();
    const asked = Array.from({ length: 2_100 }, (_, index) =>
      messageRecord('user', `question ${index}`, { ...ids, timeUnixNano: String(index + 1) }),
    );
    await sendLogs(api, project.key, [...asked, choiceRecord('It is in Bonn.', { ...ids, timeUnixNano: '9999' })]);
    await sendSpans(api, project.key, [span]);
    const joined = await untilJoined(ids.traceId, 2_048);
    expect(joined).toMatchObject({ output: answered, dropped_log_records_count: 53 });
    expect(joined?.warnings).toEqual(expect.arrayContaining(['logs_truncated', 'messages_truncated']));
    expect(JSON.stringify(joined?.input)).toContain('question 2099');
  });

  test('records without a span are accepted, and the key is told once', async () => {
    const { key } = await newKey(api, project.id, {});
    const records = [messageRecord('user', 'nobody hears this'), { body: anyValue('a line'), traceId: newTraceId() }];
    const answers = [];
    for (let sent = 0; sent < 2; sent++) answers.push(await postSignal(api, 'logs', key, logBody(records)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [first, second] = answers.map(({ bytes }) => JSON.parse(bytes.toString()));
    expect(first).toEqual({ partialSuccess: { errorMessage: expect.stringMatching(/^2 log records without a span/) } });
    expect(second).toEqual({});
  });

  test('records whose span never comes make no execution', async () => {
    const { ids, records } = aCall();
    await sendLogs(api, project.key, records);
    expect((await getExecution(api, project, ids.traceId)).status).toBe(404);
  });

  test.each([['{}'], ['{"resourceLogs":[]}']])('an empty request %s', async (body) => {
    const { status, bytes } = await postSignal(api, 'logs', project.key, body);
    expect([status, bytes.toString()]).toEqual([200, '{}']);
  });
});

describe('400', () => {
  test('the body of traces is refused, with the right path', async () => {
    const answer = await postSignal(api, 'logs', project.key, '{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}');
    expect([answer.status, decodeStatus('json', answer.bytes).message]).toEqual([
      400,
      expect.stringContaining('/api/v1/traces'),
    ]);
  });

  test('the body of logs is refused as traces, with the right path', async () => {
    const answer = await postSignal(api, 'traces', project.key, logBody(aCall().records));
    expect([answer.status, decodeStatus('json', answer.bytes).message]).toEqual([
      400,
      expect.stringContaining('/api/v1/logs'),
    ]);
  });

  test.each(['protobuf', 'json'] as const)('bytes that are no OTLP in %s', async (encoding) => {
    const headers = { 'Content-Type': contentTypes[encoding] };
    expect((await postSignal(api, 'logs', project.key, Buffer.from('no {OTLP'), headers)).status).toBe(400);
  });
});

describe('401', () => {
  test('without a key', async () => {
    expect((await postSignal(api, 'logs', 'no key', '{}')).status).toBe(401);
  });
});

describe('402', () => {
  test('when the monthly spans are used up, as for traces', async () => {
    const limited = await limitedProject(api, { quotas: { spans: 1 } });
    await sendSpans(api, limited.key, [aModelCall(1, 1)]);
    expect((await postSignal(api, 'logs', limited.key, logBody(aCall().records))).status).toBe(402);
  });
});

describe('403', () => {
  test('with a key that may not send spans', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['prompts:read'] });
    expect((await postSignal(api, 'logs', key, '{}')).status).toBe(403);
  });
});

describe('405', () => {
  test('any other method', async () => {
    expect((await fetch(`${api.url}/api/v1/logs`, { headers: { 'X-API-Key': project.key } })).status).toBe(405);
  });
});

describe('413', () => {
  test('a small body whose records share a large resource is refused: each has its own copy', async () => {
    const resource = { attributes: { text: 'x'.repeat(30_000) } };
    const logRecords = Array.from({ length: 10_000 }, () => ({ body: 'x' }));
    const body = encodeLogs('protobuf', [{ resource, scopeLogs: [{ logRecords }] }]);
    const headers = { 'Content-Type': contentTypes.protobuf, 'Content-Encoding': 'gzip' };
    const answer = await postSignal(api, 'logs', project.key, gzipSync(body), headers);
    expect(answer.status).toBe(413);
    expect(decodeStatus('protobuf', answer.bytes).message).toMatch(
      /the limit is 134217728\. Send fewer log records in a request/,
    );
  });
});

describe('415', () => {
  test('a media type that is no OTLP', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    expect((await postSignal(api, 'logs', project.key, '{}', headers)).status).toBe(415);
  });
});
