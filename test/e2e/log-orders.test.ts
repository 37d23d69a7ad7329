import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { choiceRecord, type LogInput, logBody, messageRecord, postSignal } from '../support/logs.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { aModelCall, newTraceId } from '../support/spans.ts';
import { type ExecutionDetailWire, untilExecution } from '../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

/** One request of a case. `part` of `parts` of the records, or the spans. */
type Step = { signal: 'traces' } | { signal: 'logs'; from: number; to: number };

interface Case {
  /** The number of messages of each span. */
  messages: number[];
  /** Where the records are split into requests. */
  cuts: number[];
  order: number[];
  repeated: number[];
}

const cases = fc.record({
  messages: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
  cuts: fc.array(fc.nat(20), { maxLength: 3 }),
  order: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 8 }),
  repeated: fc.array(fc.nat(8), { maxLength: 3 }),
});

const spanIdOf = (span: number) => `${span + 1}`.padStart(16, '0');

/** The records of all spans, with distinct times. */
function recordsOf({ messages }: Case, traceId: string): LogInput[] {
  let time = 1_769_851_800_000_000_000n;
  return messages.flatMap((count, span) => {
    const at = () => ({ traceId, spanId: spanIdOf(span), timeUnixNano: String(++time) });
    const asked = Array.from({ length: count }, (_, index) => messageRecord('user', `message ${index}`, at()));
    return count === 0 ? [] : [...asked, choiceRecord(`answer of ${span}`, at())];
  });
}

function stepsOf({ cuts, order, repeated }: Case, records: number): Step[] {
  const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, records)), records])].sort((a, b) => a - b);
  const logs = places
    .slice(0, -1)
    .map((from, index): Step => ({ signal: 'logs', from, to: places[index + 1] ?? from }));
  const steps: Step[] = [{ signal: 'traces' }, ...logs];
  const all = [...steps, ...repeated.flatMap((index) => steps[index] ?? [])];
  return all
    .map((step, index) => [order[index % order.length] ?? 0, index, step] as const)
    .sort(byPlace)
    .map(last);
}

const byPlace = (a: readonly [number, number, Step], b: readonly [number, number, Step]) => a[0] - b[0] || a[1] - b[1];
const last = ([, , step]: readonly [number, number, Step]) => step;

async function run(given: Case, steps: (records: number) => Step[]): Promise<unknown> {
  const traceId = newTraceId();
  const records = recordsOf(given, traceId);
  const spans = given.messages.map((_, span) => aModelCall(1, 1, { traceId, spanId: spanIdOf(span), ...fixedTimes }));
  for (const step of steps(records.length)) {
    const body =
      step.signal === 'traces' ? encodeSpans('json', spans).toString() : logBody(records.slice(step.from, step.to));
    expect((await postSignal(api, step.signal, project.key, body)).status).toBe(200);
  }
  const execution = await untilExecution(api, project, traceId, (read) => isWhole(read, given));
  return execution.spans.map(({ span_id, input, output, warnings, log_count }) => ({
    ...{ span_id, input, output, warnings, log_count },
  }));
}

const fixedTimes = { startUnixNano: 1_769_851_800_000_000_000n, endUnixNano: 1_769_851_801_000_000_000n };

function isWhole({ spans }: ExecutionDetailWire, { messages }: Case): boolean {
  const counts = new Map(spans.map(({ span_id, log_count }) => [span_id, log_count]));
  return messages.every((count, span) => counts.get(spanIdOf(span)) === (count === 0 ? 0 : count + 1));
}

test('any order, split and repetition of the requests leads to the same execution', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const plain = await run(given, (records) => [{ signal: 'traces' }, { signal: 'logs', from: 0, to: records }]);
      expect(await run(given, (records) => stepsOf(given, records))).toEqual(plain);
    }),
    { numRuns: 15 },
  );
}, 120_000);
