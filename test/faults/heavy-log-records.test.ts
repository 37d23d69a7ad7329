import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFuzzStack } from '../fuzz/start-fuzz-stack.ts';
import { isOwnWork, type LoopDelays } from '../fuzz/watch/loop-delay.ts';
import { attributesOf, type LogInput, logBody, messageRecord, postSignal } from '../support/logs.ts';
import { encodeSpans, type SpanInput } from '../support/otlp-encode.ts';
import { aModelCall, newSpanId, newTraceId } from '../support/spans.ts';
import { type Project, type Stack, showLogsOnFailure } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** Each of these took the main thread of the worker 400 to 750 ms. A busy machine doubles what a step takes. */
const stallMsMax = 100;
const joinedWithinMs = 60_000;

interface ReadSpan {
  log_count: number;
  input: { parts: { content: string }[] }[];
  evaluations: { name: string }[];
}

describe('log records that take long to join', () => {
  let stack: Stack;
  let delays: LoopDelays;
  let stop: () => Promise<void>;
  let project: Project;
  beforeAll(async () => {
    ({ stack, delays, stop } = await startFuzzStack());
    project = await stack.createProject('heavy', await stack.createWorkspace('heavy', 'enterprise'));
    // A process loads the code of log records with the first one.
    await sendLogs([messageRecord('user', 'first', newIds())]);
    await stack.untilIdle(joinedWithinMs);
  });
  afterAll(() => stop?.());

  it('evaluations of a trace of many spans: each is shown by the span that it names, else by the root', async () => {
    const traceId = newTraceId();
    const [root, spans] = [newSpanId(), Array.from({ length: 20_000 }, newSpanId)];
    await worksInShortSteps(async () => {
      await sendSpans([aModelCall(1, 1, { traceId, spanId: root })]);
      for (let start = 0; start < spans.length; start += 5_000) {
        await sendSpans(
          spans.slice(start, start + 5_000).map((spanId) => ({
            ...aModelCall(1, 1, { traceId, spanId }),
            parentSpanId: root,
            attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.response.id': `response ${spanId}` },
          })),
        );
      }
      for (let start = 0; start < 1_000; start += 250) {
        await sendLogs(spans.slice(start, start + 250).map((id) => evaluationOf(traceId, `response ${id}`)));
      }
      await sendLogs([evaluationOf(traceId, 'response of nobody')]);
      const named = spans[999] ?? '';
      expect((await readJoined(traceId, named, 1)).evaluations).toMatchObject([{ name: `response ${named}` }]);
      expect((await readJoined(traceId, root, 1)).evaluations).toMatchObject([{ name: 'response of nobody' }]);
    });
  });

  it('a record for each of many spans of a trace: every span has its content', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 10_000 }, newSpanId);
    await worksInShortSteps(async () => {
      for (let start = 0; start < spans.length; start += 5_000) {
        const some = spans.slice(start, start + 5_000);
        await sendLogs(some.map((spanId) => messageRecord('user', `asked by ${spanId}`, { traceId, spanId })));
        await sendSpans(some.map((spanId) => aModelCall(1, 1, { traceId, spanId })));
      }
      for (const spanId of [spans[0], spans[4_999], spans[9_999]]) {
        const { input } = await readJoined(traceId, spanId ?? '', 1);
        expect(input[0]?.parts[0]?.content).toBe(`asked by ${spanId}`);
      }
    });
  });

  it('records of a mebibyte for each span of a body, and messages with very many parts: all are joined', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 8 }, newSpanId);
    await worksInShortSteps(async () => {
      for (let time = 0; time < 4; time++) {
        await sendLogs(
          spans.flatMap((spanId) => [
            messageRecord('user', `${time} ${'long '.repeat(25_000)}`, { traceId, spanId }),
            messageRecord('user', [String(time), ...Array(12_000).fill({})], { traceId, spanId }),
          ]),
        );
      }
      await sendSpans(spans.map((spanId) => aModelCall(1, 1, { traceId, spanId })));
      for (const spanId of spans) expect((await readJoined(traceId, spanId, 8)).log_count).toBe(8);
    });
  });

  /** Fails when the main thread of the worker works for longer than {@link stallMsMax} without a pause. */
  async function worksInShortSteps(work: () => Promise<void>): Promise<void> {
    showLogsOnFailure(stack);
    const { pid } = stack.worker;
    delays.take(pid);
    await work();
    await stack.untilIdle(joinedWithinMs);
    const own = delays.take(pid).filter((stall) => isOwnWork(stall, stallMsMax));
    expect(own).toEqual([]);
    expect(stack.worker.pid).toBe(pid);
  }

  async function send(signal: 'logs' | 'traces', body: string): Promise<void> {
    await until('the body is accepted', joinedWithinMs, async () => {
      const { status, bytes } = await postSignal({ url: stack.apiUrl }, signal, project.apiKey, body);
      if (status !== 429 && status !== 503) expect(status, bytes.toString()).toBe(200);
      return status === 200;
    });
  }
  const sendLogs = (records: readonly LogInput[]) => send('logs', logBody(records));
  const sendSpans = (spans: SpanInput[]) => send('traces', encodeSpans('json', spans).toString());

  async function readJoined(traceId: string, spanId: string, records: number): Promise<ReadSpan> {
    const url = `${stack.apiUrl}/api/projects/${project.id}/executions/${traceId}/spans/${spanId}`;
    return until(`the content of span ${spanId}`, joinedWithinMs, async () => {
      const response = await fetch(url, { headers: { 'X-API-Key': project.apiKey } });
      const span = response.status === 200 && ((await response.json()) as ReadSpan);
      return span && span.log_count + span.evaluations.length >= records && span;
    });
  }
});

function newIds() {
  return { traceId: newTraceId(), spanId: newSpanId() };
}

function evaluationOf(traceId: string, responseId: string): LogInput {
  return {
    traceId,
    eventName: 'gen_ai.evaluation.result',
    attributes: attributesOf({
      'gen_ai.evaluation.name': responseId,
      'gen_ai.evaluation.score.value': 1,
      'gen_ai.response.id': responseId,
    }),
  };
}
