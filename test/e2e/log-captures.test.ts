import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type Capture, type RawAnswer, readCaptures, replay } from '../support/captures.ts';
import { logCaptureFolder } from '../support/logs.ts';
import { anyTime, type ExecutionDetailWire, getExecution, listExecutions, untilListed } from '../support/traces.ts';
import { until } from '../support/until.ts';

interface ExpectedSpan {
  trace_id: string;
  span_id: string;
  log_records: { genai: number; other: number };
  input?: unknown;
  output?: unknown;
  finish_reasons?: string[];
  texts?: string[];
  tool_calls_input?: string[];
  tool_calls_output?: string[];
}

interface ExpectedClient {
  spans_unique: number;
  logs: { spans: ExpectedSpan[] };
}

const manifest: Record<string, ExpectedClient> = JSON.parse(
  readFileSync(join(logCaptureFolder, 'manifest.json'), 'utf8'),
);

interface Message {
  role: string;
  parts: { type: string; content?: unknown; name?: string }[];
  finish_reason?: string;
}

/** What the project says of one span with log records. */
interface FoundSpan {
  input?: unknown;
  output?: unknown;
  attributes?: Record<string, unknown> | undefined;
}

type Send = (capture: Capture) => Promise<RawAnswer>;

const orders: Record<string, (captures: readonly Capture[], send: Send) => Promise<unknown>> = {
  'as sent': (captures, send) => inTurn(captures, send),
  'in reverse': (captures, send) => inTurn(captures.toReversed(), send),
  'with traces first': (captures, send) => inTurn(captures.toSorted(tracesFirst), send),
  'each twice': (captures, send) => inTurn([...captures, ...captures], send),
  'all at once': (captures, send) => Promise.all(captures.map(send)),
};

/** Records of the severity DEBUG, which are not kept. */
const quietRecords: Record<string, number> = { '3092915167381fa9': 1 };

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe.each(Object.entries(manifest))('the three signals of %s', (client, expected) => {
  const captures = readCaptures(client, logCaptureFolder);
  const wanted = expected.logs.spans.filter(({ log_records: { genai, other } }) => genai + other > 0);

  test.each(Object.keys(orders))('sent %s: every request is 200, and the spans have their content', async (order) => {
    const project = await newProject(api);
    const statuses: (number | undefined)[] = [];
    await orders[order]?.(captures, async (capture) => {
      const answer = await replay(api.url, project.key, capture);
      statuses.push(answer.status);
      return answer;
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
    const execution = await untilJoined(project, wanted);
    const found = new Map(execution.spans.map((span) => [span.span_id, span]));
    for (const span of wanted) expect(shownOf(span, found.get(span.span_id)), span.span_id).toEqual(wantedOf(span));
    expect(execution.span_count).toBe(expected.spans_unique);
    expect(execution.spans.flatMap(({ warnings }) => warnings)).toEqual([]);
  });
});

test('the content of log records is in the list, and found there', async () => {
  const project = await newProject(api);
  for (const capture of readCaptures('otel-logs-openai', logCaptureFolder)) await replay(api.url, project.key, capture);
  const [first] = manifest['otel-logs-openai']?.logs.spans ?? [];
  await untilJoined(project, manifest['otel-logs-openai']?.logs.spans ?? []);
  const listed = await untilListed(api, project, first?.trace_id ?? '', ({ input_preview }) => input_preview !== null);
  expect(listed).toMatchObject({ input_preview: 'Weather in Paris?' });
  const found = await listExecutions(api, project, { ...anyTime, q: 'cloudy' });
  expect(found.body.data.map(({ trace_id }) => trace_id)).toEqual([first?.trace_id]);
});

/** Waits until every span has as many records as it is sent. */
function untilJoined(project: ProjectOfTest, spans: readonly ExpectedSpan[]): Promise<ExecutionDetailWire> {
  const traceId = spans[0]?.trace_id ?? '';
  return until(`records of ${traceId}`, 30_000, async () => {
    const { status, body } = await getExecution(api, project, traceId);
    if (status !== 200) return false;
    const counts = new Map(body.spans.map(({ span_id, log_count }) => [span_id, log_count]));
    const isWhole = ({ span_id: id, log_records: { genai, other } }: ExpectedSpan) =>
      counts.get(id) === genai + other - (quietRecords[id] ?? 0);
    return spans.every(isWhole) && body;
  });
}

async function inTurn(captures: readonly Capture[], send: Send): Promise<void> {
  for (const capture of captures) await send(capture);
}

function tracesFirst(a: Capture, b: Capture): number {
  return Number(b.url.endsWith('/traces')) - Number(a.url.endsWith('/traces'));
}

/** What the manifest says of a span: its messages, or if its content was not captured, only its texts and calls. */
function wantedOf(span: ExpectedSpan) {
  if (span.texts === undefined) return { input: span.input ?? [], output: span.output ?? [] };
  const { texts, tool_calls_input: called, tool_calls_output: calls, finish_reasons: reasons } = span;
  return { texts, called, calls, reasons };
}

/** The same of a span as it is read. */
function shownOf({ texts }: ExpectedSpan, span: FoundSpan | undefined) {
  const [input, output] = [messagesOf(span?.input), messagesOf(span?.output)];
  if (texts === undefined) return { input, output };
  const all = [...input, ...output].flatMap(({ parts }) => parts);
  // A choice without content is left out, and its reason is what the span itself says.
  const reasons = span?.attributes?.['gen_ai.response.finish_reasons'] ?? [];
  return {
    texts: all.filter(({ type }) => type === 'text').map(({ content }) => content),
    called: callsOf(input),
    calls: callsOf(output),
    reasons,
  };
}

function callsOf(messages: readonly Message[]): (string | undefined)[] {
  return messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool_call').map(({ name }) => name));
}

function messagesOf(value: unknown): readonly Message[] {
  return Array.isArray(value) ? value : [];
}
