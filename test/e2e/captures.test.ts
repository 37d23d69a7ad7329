import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executionSchema } from '../../src/domains/executions/executions.schema.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type ExpectedTrace, manifest, type RawAnswer, readCaptures, replay } from '../support/captures.ts';
import { manifestOf, statedBy, summaryOf } from '../support/execution-truth.ts';
import { anyTime, type ExecutionDetailWire, getExecution, listExecutions } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe.each(Object.entries(manifest))('the recorded requests of %s, sent to the API', (client, expected) => {
  const captures = readCaptures(client);
  let project: ProjectOfTest;
  let answers: RawAnswer[];
  let executions: ExecutionDetailWire[];

  beforeAll(async () => {
    project = await newProject(api);
    answers = [];
    for (const capture of captures) answers.push(await replay(api.url, project.key, capture));
    executions = await until(`${expected.spans_unique} spans of ${client}`, 30_000, async () => {
      const found = await readAll(project);
      const spans = found.reduce((sum, { span_count }) => sum + span_count, 0);
      return found.length === expected.traces.length && spans >= expected.spans_unique && found;
    });
  });

  test('are answered as exporters expect: 200, and only of metrics that they are not kept', () => {
    const outcomes = captures.map(({ url, body: _, rawHeaders }, index) => ({
      url,
      status: answers[index]?.status,
      sameType: rawHeaders.includes(answers[index]?.contentType ?? ''),
      silent: ['', '{}'].includes(answers[index]?.body.toString() ?? ''),
    }));
    // A key is told once an hour.
    const told = captures.findIndex(({ url }) => url.endsWith('/metrics'));
    expect(outcomes).toEqual(
      captures.map(({ url }, index) => ({ url, status: 200, sameType: true, silent: index !== told })),
    );
    expect(captures.filter(({ url }) => url.endsWith('/traces'))).toHaveLength(expected.requests);
  });

  test.each(expected.traces.map((trace, index) => [index, trace] as const))(
    'become trace %i of the manifest, field by field',
    (index, trace) => {
      const found = sortedByRoots(executions.map(manifestOf))[traceOrder(expected.traces).indexOf(index)];
      expect(found).toEqual(withSortedLists(trace));
    },
  );

  test('add up to executions that agree with their spans', () => {
    for (const execution of executions) {
      expect(statedBy(execution)).toEqual(summaryOf(execution));
      const warnings = execution.spans.flatMap((span) => span.warnings);
      expect(warnings.filter((word) => word !== 'end_before_start')).toEqual([]);
    }
  });

  test('hold as many spans as the manifest counts, each request by itself and all together', async () => {
    const alone = await Promise.all(
      captures.map(async (capture) => {
        const ofRequest = await newProject(api);
        const { status } = await replay(api.url, ofRequest.key, capture);
        return status === 200 && capture.url.endsWith('/traces') ? ofRequest : undefined;
      }),
    );
    const received = await until(`${expected.spans_received} spans, request by request`, 30_000, async () => {
      const counts = await Promise.all(alone.map(async (each) => (each === undefined ? 0 : countSpans(each))));
      const total = counts.reduce((sum, count) => sum + count, 0);
      return total >= expected.spans_received && total;
    });
    expect(received).toBe(expected.spans_received);
    expect(await countSpans(project)).toBe(expected.spans_unique);
  });

  test('are listed with the same summary as the execution itself has', async () => {
    for (const detail of executions) {
      const listed = await until(`${detail.trace_id} in the list`, 30_000, async () => {
        const { body } = await listExecutions(api, project, { ...anyTime, limit: 100 });
        return body.data.find(
          ({ trace_id, span_count }) => trace_id === detail.trace_id && span_count === detail.span_count,
        );
      });
      expect(detail).toMatchObject(listed);
      expect(Object.keys(listed)).toHaveLength(Object.keys(executionSchema.shape).length);
    }
  });
});

async function countSpans(project: ProjectOfTest): Promise<number> {
  return (await readAll(project)).reduce((sum, { spans }) => sum + spans.length, 0);
}

async function readAll(project: ProjectOfTest): Promise<ExecutionDetailWire[]> {
  const { body } = await listExecutions(api, project, { ...anyTime, limit: 100 });
  return Promise.all(body.data.map(async ({ trace_id }) => (await getExecution(api, project, trace_id)).body));
}

function withSortedLists(trace: ExpectedTrace): ExpectedTrace {
  const lists = Object.entries(trace).map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value]);
  return Object.fromEntries(lists);
}

/** Traces are told apart by what they begin with. */
function sortedByRoots(traces: readonly ExpectedTrace[]): ExpectedTrace[] {
  return traces.toSorted((a, b) => (a.roots.join() < b.roots.join() ? -1 : 1));
}

function traceOrder(traces: readonly ExpectedTrace[]): number[] {
  return sortedByRoots(traces).map((trace) => traces.indexOf(trace));
}
