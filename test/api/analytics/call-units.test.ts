import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import type { promptAnalyticsSchema } from '../../../src/domains/analytics/prompt-analytics.schema.ts';
import { nanoOf } from '../../support/analytics.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { pricedCall } from '../../support/budgets.ts';
import type { SpanInput } from '../../support/otlp-encode.ts';
import { aSpan, newTraceId } from '../../support/spans.ts';
import { listExecutions, sendSpans, untilListed } from '../../support/traces.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

interface Prompts {
  own: string;
  other: string;
}

async function newPrompt(project: ProjectOfTest, name: string): Promise<string> {
  const body = { name, type: 'text', template: `Hello ${name}` };
  const at = { params: { project_id: project.id }, key: project.key };
  return (await api.call<{ id: string }>('createPrompt', { ...at, body })).body.id;
}

const of = (promptId: string) => ({ 'promptlane.prompt.id': promptId, 'gen_ai.prompt.version': 1n });

/** Executions, and how often they call the prompt, with the cost of these calls in nano-USD. */
const cases: [string, (traceId: string, prompts: Prompts) => SpanInput[], { calls: number; cost: bigint }][] = [
  [
    'a model call within a model call of the same response',
    (traceId, { own }) => {
      const attributes = { ...of(own), 'gen_ai.response.id': 'resp_1' };
      const outer = pricedCall(7_000n, { traceId, attributes });
      return [outer, pricedCall(7_000n, { traceId, parentSpanId: outer.spanId, attributes })];
    },
    { calls: 1, cost: 7_000n },
  ],
  [
    'a span that names the prompt above three calls that do not',
    (traceId, { own }) => {
      const wrapper = aSpan({ traceId, attributes: of(own) });
      return [wrapper, ...[1n, 20n, 300n].map((cost) => pricedCall(cost, { traceId, parentSpanId: wrapper.spanId }))];
    },
    { calls: 3, cost: 321n },
  ],
  [
    'an agent that names the prompt and repeats the cost of two calls below it',
    (traceId, { own }) => {
      const repeated = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.cost': 0.000_000_011 };
      const agent = aSpan({ traceId, attributes: { ...of(own), ...repeated, 'gen_ai.usage.input_tokens': 20n } });
      return [agent, ...[5n, 6n].map((cost) => pricedCall(cost, { traceId, parentSpanId: agent.spanId }))];
    },
    { calls: 2, cost: 11n },
  ],
  [
    'a span that names the prompt and has no call below it',
    (traceId, { own }) => [aSpan({ traceId, attributes: of(own) })],
    { calls: 1, cost: 0n },
  ],
  [
    'a wrapper and its call that both name the prompt',
    (traceId, { own }) => {
      const wrapper = aSpan({ traceId, attributes: of(own) });
      return [wrapper, pricedCall(9n, { traceId, parentSpanId: wrapper.spanId, attributes: of(own) })];
    },
    { calls: 1, cost: 9n },
  ],
  [
    'a wrapper that names the prompt above a call of another prompt',
    (traceId, { own, other }) => {
      const wrapper = aSpan({ traceId, attributes: of(own) });
      return [
        wrapper,
        pricedCall(100n, { traceId, parentSpanId: wrapper.spanId, attributes: of(other) }),
        pricedCall(40n, { traceId, parentSpanId: wrapper.spanId }),
      ];
    },
    { calls: 1, cost: 40n },
  ],
  [
    'a call of another prompt only',
    (traceId, { other }) => [pricedCall(1_000n, { traceId, attributes: of(other) })],
    { calls: 0, cost: 0n },
  ],
];

test.each(cases)('%s is counted once per call', async (_what, spansOf, expected) => {
  const project = await newProject(api);
  const prompts = { own: await newPrompt(project, 'own'), other: await newPrompt(project, 'other') };
  const traceId = newTraceId();
  const spans = spansOf(traceId, prompts);
  // Sent twice: what is resent replaces itself.
  await sendSpans(api, project.key, spans.toReversed());
  await sendSpans(api, project.key, spans);
  await untilListed(api, project, traceId, ({ span_count }) => span_count === spans.length);
  const of = async (promptId: string) => {
    const params = { project_id: project.id, prompt_id: promptId };
    const options = { params, key: project.key };
    return (await api.call<z.infer<typeof promptAnalyticsSchema>>('getPromptAnalytics', options)).body.totals;
  };
  const [own, other] = [await of(prompts.own), await of(prompts.other)];
  expect({ calls: own.executions, cost: nanoOf(own.cost.total) }).toEqual(expected);
  expect(own.traces).toBe(expected.calls === 0 ? 0 : 1);
  const { body: list } = await listExecutions(api, project);
  // Every cost belongs to a call of one of the two prompts, once.
  expect(nanoOf(own.cost.total) + nanoOf(other.cost.total)).toBe(nanoOf(list.data[0]?.cost ?? null));
});
