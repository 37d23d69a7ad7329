import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { choiceRecord, type LogInput, logBody, messageRecord } from '../support/logs.ts';
import { encodeSpans, type SpanInput } from '../support/otlp-encode.ts';
import { integerBetween, seededRandom } from '../support/random.ts';
import { aModelCall, newSpanId, newTraceId } from '../support/spans.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const calls = 120;
const kills = 5;

interface Call {
  ids: { traceId: string; spanId: string };
  span: SpanInput;
  records: LogInput[];
}

interface ReadSpan {
  log_count: number;
  input: unknown;
  output: unknown;
}

describe('kill -9 of the worker between storing spans and their log records', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  it.each(['records first', 'spans first'])('%s: every span has its content once', async (order) => {
    showLogsOnFailure(stack);
    const project = await stack.createProject(order);
    const random = seededRandom();
    const sent = Array.from({ length: calls }, (_, number) => callOf(number));
    const sending = sendAll(project, sent, order === 'records first');
    for (let killed = 0; killed < kills; killed++) {
      await delay(integerBetween(random, 200, 700));
      await stack.worker.kill();
      await stack.worker.start();
    }
    await sending;
    await stack.untilIdle(90_000);
    for (const [number, { ids }] of sent.entries()) {
      const span = await until(`the content of call ${number}`, 30_000, async () => {
        const read = await readSpan(project, ids.traceId);
        return read?.log_count === 2 && read;
      });
      expect(span).toMatchObject({
        input: [{ role: 'user', parts: [{ type: 'text', content: `question ${number}` }] }],
        output: [{ role: 'assistant', parts: [{ type: 'text', content: `answer ${number}` }], finish_reason: 'stop' }],
      });
    }
  });

  async function sendAll(project: Project, sent: readonly Call[], recordsFirst: boolean): Promise<void> {
    for (const { span, records } of sent) {
      const requests = [() => post(project, 'logs', logBody(records)), () => post(project, 'traces', spanBody(span))];
      for (const request of recordsFirst ? requests : requests.reverse()) await request();
    }
  }

  async function post(project: Project, signal: 'logs' | 'traces', body: string): Promise<void> {
    const response = await fetch(`${stack.apiUrl}/api/v1/${signal}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
      body,
    });
    expect(response.status, await response.text()).toBe(200);
  }

  async function readSpan(project: Project, traceId: string): Promise<ReadSpan | undefined> {
    const url = `${stack.apiUrl}/api/projects/${project.id}/executions/${traceId}`;
    const response = await fetch(url, { headers: { 'X-API-Key': project.apiKey } });
    if (response.status !== 200) return undefined;
    const { spans } = (await response.json()) as { spans: ReadSpan[] };
    return spans[0];
  }
});

function spanBody(span: SpanInput): string {
  return encodeSpans('json', [span]).toString();
}

function callOf(number: number): Call {
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  return {
    ids,
    span: aModelCall(1, 1, ids),
    records: [messageRecord('user', `question ${number}`, ids), choiceRecord(`answer ${number}`, ids)],
  };
}
