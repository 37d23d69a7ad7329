import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpanWire } from '../../src/domains/executions/span.schema.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type ExpectedTrace, manifest, type RawAnswer, readCaptures, replay } from '../support/captures.ts';
import { type ExecutionDetailWire, getExecution, listExecutions } from '../support/traces.ts';
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
    executions = await until(`${expected.spans_unique} spans of ${client}`, 15_000, async () => {
      const found = await readAll(project);
      const spans = found.reduce((sum, { span_count }) => sum + span_count, 0);
      return found.length === expected.traces.length && spans >= expected.spans_unique && found;
    });
  });

  test('are answered as exporters expect: traces 200 and nothing to say, other signals 404', () => {
    const outcomes = captures.map(({ url, body: _, rawHeaders }, index) => ({
      url,
      status: answers[index]?.status,
      sameType: rawHeaders.includes(answers[index]?.contentType ?? ''),
      silent: ['', '{}'].includes(answers[index]?.body.toString() ?? ''),
    }));
    expect(outcomes).toEqual(
      captures.map(({ url }) =>
        url.endsWith('/traces')
          ? { url, status: 200, sameType: true, silent: true }
          : { url, status: 404, sameType: true, silent: false },
      ),
    );
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(expected.requests);
  });

  test('become the traces, spans and totals of the manifest', () => {
    expect(sorted(executions.map(summary))).toEqual(sorted(expected.traces.map(withSortedLists)));
  });

  test('add up to executions that agree with their spans', () => {
    for (const execution of executions) {
      const { spans } = execution;
      expect(execution.span_count).toBe(spans.length);
      expect(execution.error_count).toBe(spans.filter(({ status }) => status === 'error').length);
      expect(execution.complete).toBe(spans.some(({ parent_span_id }) => parent_span_id === null));
      expect(spans.map(({ model }) => model)).toEqual(expect.arrayContaining(execution.models));
      expect(execution.tags.toSorted()).toEqual(distinct(spans.flatMap(({ tags }) => tags)));
      expect([null, ...spans.map(({ session_id }) => session_id)]).toContain(execution.session_id);
      expect([null, ...spans.map(({ user_id }) => user_id)]).toContain(execution.user_id);
      expect(spans.flatMap(({ warnings }) => warnings).filter((word) => word !== 'end_before_start')).toEqual([]);
    }
  });

  test('are listed with the same summary as the execution itself has', async () => {
    const window = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
    for (const {
      project_id: _,
      missing_parents: __,
      spans: ___,
      feedback: ____,
      truncated: _____,
      cost_breakdown: ______,
      ...detail
    } of executions) {
      const listed = await until(`${detail.trace_id} in the list`, 10_000, async () => {
        const { body } = await listExecutions(api, project, { ...window, limit: 100 });
        return body.data.find(
          ({ trace_id, span_count }) => trace_id === detail.trace_id && span_count === detail.span_count,
        );
      });
      expect(listed).toEqual(detail);
    }
  });
});

async function readAll(project: ProjectOfTest): Promise<ExecutionDetailWire[]> {
  const window = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  const { body } = await listExecutions(api, project, { ...window, limit: 100 });
  return Promise.all(body.data.map(async ({ trace_id }) => (await getExecution(api, project, trace_id)).body));
}

/** An execution as the manifest puts it, from what the API answers. */
function summary(execution: ExecutionDetailWire): ExpectedTrace {
  const { spans } = execution;
  const missing = new Set(execution.missing_parents);
  return {
    spans: spans.length,
    roots: names(spans.filter(({ parent_span_id }) => parent_span_id === null)),
    orphans: names(spans.filter(({ parent_span_id }) => parent_span_id !== null && missing.has(parent_span_id))),
    kinds: histogram(spans.map(({ kind }) => kind)),
    errors: spans.filter(({ status }) => status === 'error').length,
    tokens: { in: execution.usage.input_tokens, out: execution.usage.output_tokens },
    models: distinct(spans.map(({ model }) => model)),
    providers: distinct(spans.map(({ provider }) => provider)),
    session: distinct(spans.map(({ session_id }) => session_id)),
    user: distinct(spans.map(({ user_id }) => user_id)),
    tags: distinct(spans.map(({ tags }) => tags.join('|'))),
    prompt: distinct(spans.map(({ prompt_ref: ref }) => ref && `${ref.name ?? '?'}@${ref.raw}`)),
    ttft: spans.filter(({ ttft_ms }) => ttft_ms !== null).length,
    llm_with_io: spans.filter(({ kind, input, output }) => kind === 'llm' && input !== null && output !== null).length,
    // The manifest tells what the clients said; what they did not say may have been computed.
    ...(execution.cost_breakdown.reported !== null && { cost: Number(execution.cost_breakdown.reported) }),
  };
}

function names(spans: readonly SpanWire[]): string[] {
  return distinct(spans.map(({ span_name }) => span_name));
}

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values)].filter((value): value is string => value !== null && value !== '').toSorted();
}

function histogram(values: readonly string[]): Record<string, number> {
  return Object.fromEntries(values.map((value) => [value, values.filter((other) => other === value).length]));
}

function withSortedLists(trace: ExpectedTrace): ExpectedTrace {
  const lists = Object.entries(trace).map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value]);
  return Object.fromEntries(lists);
}

function sorted(traces: readonly ExpectedTrace[]): ExpectedTrace[] {
  return traces.toSorted((a, b) => (a.roots.join() < b.roots.join() ? -1 : 1));
}
