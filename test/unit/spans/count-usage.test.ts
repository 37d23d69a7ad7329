import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TokenUsage } from '../../../src/domains/spans/token-usage.ts';
import { type CountableSpan, sumUsage } from '../../../src/domains/summaries/count-usage.ts';

function tokens(inputTokens: number, outputTokens = 0): TokenUsage {
  const totalTokens = inputTokens + outputTokens;
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, totalTokens };
}

function span(spanId: string, parentSpanId: string, kind: string, given: Partial<CountableSpan> = {}): CountableSpan {
  return { spanId, parentSpanId, startUnixNano: 0n, kind, usage: null, costNanoUsd: null, responseId: '', ...given };
}

const ids = (spans: readonly CountableSpan[]) => [...sumUsage(spans).countedSpanIds].sort();

describe('usage of a trace', () => {
  test('leaves out an agent that repeats its calls', () => {
    const spans = [
      span('agent', '', 'agent', { usage: tokens(84, 34), costNanoUsd: 20n }),
      span('step', 'agent', 'chain', { usage: tokens(84, 34) }),
      span('a', 'step', 'llm', { usage: tokens(42, 17), costNanoUsd: 10n }),
      span('b', 'step', 'llm', { usage: tokens(42, 17), costNanoUsd: 10n }),
    ];
    const total = sumUsage(spans);
    expect(total.usage).toEqual(tokens(84, 34));
    expect([total.costNanoUsd, total.unpricedSpans, ids(spans)]).toEqual([20n, 0, ['a', 'b']]);
  });

  test('takes an agent whose calls report nothing, the innermost of two', () => {
    const spans = [
      span('outer', '', 'agent', { usage: tokens(9) }),
      span('inner', 'outer', 'agent', { usage: tokens(9) }),
      span('call', 'inner', 'llm'),
      span('failed', 'inner', 'llm', { costNanoUsd: 0n }),
    ];
    expect(ids(spans)).toEqual(['inner']);
  });

  test('counts both of nested calls without a common response id', () => {
    const spans = [
      span('outer', '', 'llm', { usage: tokens(1), responseId: 'x' }),
      span('inner', 'outer', 'llm', { usage: tokens(1), responseId: 'y' }),
      span('innermost', 'inner', 'llm', { usage: tokens(1) }),
    ];
    expect(ids(spans)).toEqual(['inner', 'innermost', 'outer']);
  });

  test('counts the innermost of nested calls with one response id, however far apart', () => {
    const spans = [
      span('outer', '', 'llm', { usage: tokens(5), responseId: 'r' }),
      span('between', 'outer', 'chain'),
      span('inner', 'between', 'llm', { usage: tokens(5), responseId: 'r' }),
    ];
    expect(ids(spans)).toEqual(['inner']);
  });

  test('counts both of sibling calls with one response id', () => {
    const call = (id: string) => span(id, 'root', 'llm', { usage: tokens(5), responseId: 'r' });
    expect(ids([span('root', '', 'chain'), call('a'), call('b')])).toEqual(['a', 'b']);
  });

  test('keeps the outer of nested calls when the inner reports nothing', () => {
    const spans = [
      span('outer', '', 'llm', { usage: tokens(5), responseId: 'r' }),
      span('inner', 'outer', 'llm', { responseId: 'r' }),
    ];
    expect(ids(spans)).toEqual(['outer']);
    expect([...sumUsage(spans).repeatedSpanIds]).toEqual(['inner']);
  });

  test('counts a span given twice as it was given last', () => {
    const spans = [span('a', '', 'llm', { usage: tokens(1) }), span('a', '', 'llm', { usage: tokens(7) })];
    expect(sumUsage(spans).usage).toEqual(tokens(7));
  });

  test('says how many counted spans have tokens but no cost', () => {
    const spans = [
      span('a', '', 'llm', { usage: tokens(1) }),
      span('b', '', 'embedding', { usage: tokens(1), costNanoUsd: 0n }),
      span('c', '', 'llm', { costNanoUsd: 5n }),
    ];
    expect(sumUsage(spans)).toMatchObject({ costNanoUsd: 5n, unpricedSpans: 1 });
  });

  test.each(['llm', 'embedding', 'reranker'])(
    'counts a call (%s) that reports nothing as one without a known cost',
    (kind) => {
      const spans = [span('agent', '', 'agent'), span('wrapper', 'agent', kind), span('call', 'wrapper', kind)];
      expect(sumUsage(spans)).toMatchObject({ costNanoUsd: 0n, unpricedSpans: 1, pricedSpans: 0 });
      expect(ids(spans)).toEqual(['call']);
    },
  );

  test('leaves a call that reports nothing to the span above or below it that knows', () => {
    const known = { usage: tokens(9), costNanoUsd: 7n };
    const above = [span('agent', '', 'agent', known), span('call', 'agent', 'llm'), span('other', 'agent', 'llm')];
    const below = [span('wrapper', '', 'llm'), span('call', 'wrapper', 'llm', known)];
    for (const spans of [above, below]) expect(sumUsage(spans)).toMatchObject({ costNanoUsd: 7n, unpricedSpans: 0 });
    expect(sumUsage([...below, span('silent', '', 'llm')])).toMatchObject({ costNanoUsd: 7n, unpricedSpans: 1 });
  });

  test('of a cycle of parents is that of the tree left when it is cut at one span', () => {
    const spans = [
      span('leaf', 'a', 'llm', { usage: tokens(3) }),
      span('a', 'b', 'agent', { usage: tokens(3) }),
      span('b', 'a', 'agent', { usage: tokens(3), startUnixNano: 1n }),
      span('self', 'self', 'llm', { usage: tokens(2) }),
      span('orphan', 'gone', 'llm', { usage: tokens(4) }),
    ];
    expect(ids(spans)).toEqual(['b', 'leaf', 'orphan', 'self']);
  });

  test('of a cycle is cut at the earliest span on it, in any order of the spans', () => {
    const cycle = (starts: Record<string, bigint>) =>
      ['c', 'b', 'a'].map((id) =>
        span(id, { a: 'b', b: 'c', c: 'a' }[id] ?? '', 'agent', { usage: tokens(1), startUnixNano: starts[id] ?? 0n }),
      );
    const below = span('below', 'a', 'chain', { startUnixNano: -1n });
    for (const [spans, counted] of [
      [cycle({ a: 1n, b: 2n, c: 0n }), 'a'],
      [cycle({ a: 0n, b: 2n, c: 1n }), 'b'],
      [cycle({}), 'b'],
    ] as const) {
      for (const given of [[...spans, below], [below, ...spans], [below, ...spans].toReversed()]) {
        expect(ids(given)).toEqual([counted]);
      }
    }
  });

  test('of a chain 10,000 deep needs no stack', () => {
    const chain = Array.from({ length: 10_000 }, (_, i) =>
      span(`s${i}`, i === 0 ? '' : `s${i - 1}`, 'agent', { usage: tokens(1) }),
    );
    expect(ids(chain)).toEqual(['s9999']);
  });

  test('is the same in any order, and never more than all model calls', () => {
    const kinds = fc.constantFrom('llm', 'embedding', 'agent', 'chain', 'other');
    const usage = fc.option(fc.nat(50).map((count) => tokens(count, 1)));
    const forest = fc
      .array(fc.record({ parent: fc.nat(), kind: kinds, usage, responseId: fc.constantFrom('', 'r', 's') }), {
        maxLength: 30,
      })
      .map((rows) =>
        rows.map(({ parent, kind, usage, responseId }, i) =>
          span(`s${i}`, i === 0 ? '' : `s${parent % i}`, kind, { usage, responseId }),
        ),
      );
    fc.assert(
      fc.property(forest, (spans) => {
        const counted = ids(spans);
        expect(ids(spans.toReversed())).toEqual(counted);
        expect(counted).toEqual(byDefinition(spans).sort());
      }),
    );
  });
});

/** The rules as count-usage.ts states them, in no hurry. */
function byDefinition(spans: readonly CountableSpan[]): string[] {
  const isCall = ({ kind }: CountableSpan) => ['llm', 'embedding', 'reranker'].includes(kind);
  const below = (top: CountableSpan): CountableSpan[] =>
    spans.filter(({ parentSpanId }) => parentSpanId === top.spanId).flatMap((child) => [child, ...below(child)]);
  const counts = (each: CountableSpan): boolean => {
    if (each.usage === null) return false;
    if (each.kind !== 'llm') return !below(each).some(counts);
    const { responseId } = each;
    return (
      responseId === '' || !below(each).some((other) => isCall(other) && other.usage && other.responseId === responseId)
    );
  };
  const above = (each: CountableSpan): CountableSpan[] =>
    spans.filter(({ spanId }) => spanId === each.parentSpanId).flatMap((parent) => [parent, ...above(parent)]);
  const isSilent = (each: CountableSpan): boolean =>
    isCall(each) && each.usage === null && !below(each).some((other) => counts(other) || isSilent(other));
  const isUnpriced = (each: CountableSpan) => isSilent(each) && !above(each).some(counts);
  return spans.filter((each) => counts(each) || isUnpriced(each)).map(({ spanId }) => spanId);
}
