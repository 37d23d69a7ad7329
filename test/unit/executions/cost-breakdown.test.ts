import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { breakDownCost } from '../../../src/domains/executions/cost-breakdown.ts';
import type { LightSpan } from '../../../src/domains/spans/light-span.ts';
import { summarizeExecution } from '../../../src/domains/summaries/summarize-execution.ts';
import { lightSpan } from '../../support/light-span.ts';
import { tokens } from '../../support/priced-usage.ts';

function call(spanId: string, given: Partial<LightSpan> = {}): LightSpan {
  const usage = tokens({ inputTokens: 10, outputTokens: 1 });
  const priced = { provider: 'openai', model: 'gpt-4o', usage, costNanoUsd: 100n, costSource: 'computed' } as const;
  return lightSpan({ spanId, kind: 'llm', name: 'call', status: 'ok', ...priced, ...given });
}

const unpriced = { costNanoUsd: null, costSource: 'none' } as const;

describe('what an execution cost', () => {
  test('is told by who says so, and of nobody who said nothing', () => {
    const spans = [
      call('a'),
      call('b', { costNanoUsd: 40n, costSource: 'reported' }),
      call('c', { costNanoUsd: 2n, costSource: 'reported' }),
      call('d', unpriced),
    ];
    expect(breakDownCost(spans)).toMatchObject({ reportedNanoUsd: 42n, computedNanoUsd: 100n });
    expect(breakDownCost([call('a')])).toMatchObject({ reportedNanoUsd: null, computedNanoUsd: 100n });
    expect(breakDownCost([])).toEqual({ reportedNanoUsd: null, computedNanoUsd: null, byModel: [] });
  });

  test('is told by model and provider, the dearest first and the unpriced last', () => {
    const spans = [
      call('a', { model: 'dear', costNanoUsd: 70n }),
      call('b', { model: 'cheap', ...unpriced }),
      call('c', { model: 'cheap', provider: 'azure.ai.openai', costNanoUsd: 0n }),
      call('d', { model: 'dear', costNanoUsd: 80n }),
      call('e', { model: 'dear', ...unpriced }),
    ];
    expect(
      breakDownCost(spans).byModel.map(({ model, provider, costNanoUsd, unpricedSpans, usage }) => [
        model,
        provider,
        costNanoUsd,
        unpricedSpans,
        usage.inputTokens,
      ]),
    ).toEqual([
      ['dear', 'openai', 150n, 1, 30],
      ['cheap', 'azure.ai.openai', 0n, 0, 10],
      ['cheap', 'openai', null, 1, 10],
    ]);
  });

  test('leaves out an agent that repeats its calls, and the outer of two instrumentations of one call', () => {
    const spans = [
      call('agent', { kind: 'agent', model: 'of the agent', costNanoUsd: 999n }),
      call('outer', { parentSpanId: 'agent', model: 'outer', responseId: 'r', costNanoUsd: 50n }),
      call('inner', { parentSpanId: 'outer', model: 'inner', responseId: 'r', costNanoUsd: 50n }),
    ];
    const { computedNanoUsd, byModel } = breakDownCost(spans);
    expect([computedNanoUsd, byModel.map(({ model }) => model)]).toEqual([50n, ['inner']]);
  });

  test('adds up to the totals of the summary, whatever the parents and the order of the spans', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const anySpan = fc.record({
      parentSpanId: fc.constantFrom('', 'gone', ...ids),
      startUnixNano: fc.bigInt(0n, 3n),
      kind: fc.constantFrom('llm', 'embedding', 'agent', 'chain'),
      model: fc.constantFrom('one', 'two'),
      costNanoUsd: fc.option(fc.bigInt(1n, 99n)),
      usage: fc.option(fc.nat(50).map((inputTokens) => tokens({ inputTokens }))),
      responseId: fc.constantFrom('', 'r'),
    });
    const given = fc.tuple(...ids.map((spanId) => anySpan.map((span) => call(spanId, span))));
    fc.assert(
      fc.property(given, (spans) => {
        const { costNanoUsd, usage, unpricedSpans } = summarizeExecution('prj', spans);
        const { byModel, computedNanoUsd } = breakDownCost(spans);
        const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
        expect({
          cost: Number(computedNanoUsd),
          inputTokens: sum(byModel.map((part) => part.usage.inputTokens)),
          unpricedSpans: sum(byModel.map((part) => part.unpricedSpans)),
        }).toEqual({ cost: Number(costNanoUsd), inputTokens: usage.inputTokens, unpricedSpans });
      }),
    );
  });
});
