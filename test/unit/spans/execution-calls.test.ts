import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LightSpan, usageParts } from '../../../src/domains/spans/index.ts';
import type { ExecutionCall } from '../../../src/domains/summaries/execution-calls.ts';
import { mergeCalls } from '../../../src/domains/summaries/merge-calls.ts';
import { summarizeExecution } from '../../../src/domains/summaries/summarize-execution.ts';
import { lightSpan } from '../../support/light-span.ts';

const spanIds = Array.from({ length: 8 }, (_, index) => `000000000000000${index + 1}`);
const tokens = fc.nat({ max: 1_000_000 });
const word = fc.constantFrom('', 'a', 'b');
const usageOf = (count: number) => ({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  totalTokens: 2 * count,
});

const anySpans = fc.uniqueArray(
  fc
    .record({
      spanId: fc.constantFrom(...spanIds),
      parentSpanId: fc.constantFrom('', 'ffffffffffffffff', ...spanIds),
      startUnixNano: fc.bigInt({ min: 1n, max: 10n ** 15n }),
      kind: fc.constantFrom('llm', 'embedding', 'agent', 'tool'),
      status: fc.constantFrom('unset', 'ok', 'error'),
      model: word,
      userId: word,
      responseId: word,
      errorType: word,
      ttftMs: fc.option(fc.nat({ max: 100 })),
      costNanoUsd: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n })),
      usage: fc.option(tokens.map(usageOf)),
    })
    .map((given) => lightSpan(given as Partial<LightSpan>)),
  { selector: ({ spanId }) => spanId, minLength: 1 },
);

describe('the calls of an execution', () => {
  test('that count add up to the sums of the execution', () => {
    fc.assert(
      fc.property(anySpans, (spans) => {
        const summary = summarizeExecution('p', spans);
        expect(sumsOf(summary.calls)).toEqual({
          usage: summary.usage,
          cost: summary.costNanoUsd ?? 0n,
          unpriced: summary.unpricedSpans,
        });
      }),
    );
  });

  test('are one for nested spans with one response id', () => {
    const outer = lightSpan({
      spanId: 'a'.repeat(16),
      kind: 'llm',
      responseId: 'r',
      usage: usageOf(5),
      costNanoUsd: 7n,
    });
    const inner = lightSpan({ ...outer, spanId: 'b'.repeat(16), parentSpanId: outer.spanId });
    expect(summarizeExecution('p', [outer, inner]).calls).toMatchObject([
      { spanId: inner.spanId, counted: true, calls: 1 },
    ]);
  });

  test('are one for nested spans with one response id of which the inner one reports nothing', () => {
    const given = { kind: 'llm' as const, responseId: 'r' };
    const named = { id: '', name: 'support', version: 1, rawVersion: '1', source: 'self' as const, key: '' };
    const outer = lightSpan({ ...given, spanId: 'a'.repeat(16), usage: usageOf(5), costNanoUsd: 7n, prompt: named });
    const inner = lightSpan({ ...given, spanId: 'b'.repeat(16), parentSpanId: outer.spanId });
    const { calls, prompts, costNanoUsd } = summarizeExecution('p', [outer, inner]);
    expect(calls).toMatchObject([{ spanId: outer.spanId, counted: true, prompt: { name: 'support' } }]);
    expect([costNanoUsd, prompts.map(({ name, calls: uses }) => [name, uses])]).toEqual([7n, [['support', 1]]]);
  });

  test('include one that failed without usage, and not an agent that repeats the sum of its calls', () => {
    const agent = lightSpan({ spanId: 'a'.repeat(16), kind: 'agent', usage: usageOf(5), costNanoUsd: 7n });
    const call = lightSpan({
      spanId: 'b'.repeat(16),
      parentSpanId: agent.spanId,
      kind: 'llm',
      usage: usageOf(5),
      costNanoUsd: 7n,
    });
    const failed = lightSpan({
      ...{ spanId: 'c'.repeat(16), parentSpanId: agent.spanId, kind: 'llm', status: 'error', errorType: 'timeout' },
      ...{ usage: null, costNanoUsd: 0n, startUnixNano: 2n },
    });
    const { calls, errors } = summarizeExecution('p', [agent, call, failed]);
    expect(calls.map(({ spanId, counted }) => [spanId, counted])).toEqual([
      [call.spanId, true],
      [failed.spanId, false],
    ]);
    expect(errors).toEqual([{ type: 'timeout', spans: 1 }]);
  });
});

describe('merged calls', () => {
  test('keep their number, usage and cost, and are few', () => {
    fc.assert(
      fc.property(
        fc.array(anySpans, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 10 }),
        (traces, max) => {
          const calls = traces.flatMap((spans) => summarizeExecution('p', spans).calls);
          const merged = mergeCalls(calls, max);
          expect(sumsOf(merged)).toEqual(sumsOf(calls));
          expect(merged.reduce((sum, call) => sum + call.calls, 0)).toBe(calls.length);
        },
      ),
    );
  });

  test('of many hours keep their hours when those of quarters of an hour are too many', () => {
    const [call] = summarizeExecution('p', [lightSpan({ kind: 'llm', usage: usageOf(1) })]).calls;
    if (call === undefined) throw new Error('The span is a call');
    const twentyMinutes = 20n * 60n * 10n ** 9n;
    const many = Array.from({ length: 6_000 }, (_, index) => ({
      ...call,
      startUnixNano: BigInt(index) * twentyMinutes,
    }));
    const merged = mergeCalls(many);
    expect(merged).toHaveLength(2_000);
    expect(new Set(merged.map(({ calls }) => calls))).toEqual(new Set([3]));
  });

  test('of more models than are stored keep the names of the first, and all numbers', () => {
    const [call] = summarizeExecution('p', [lightSpan({ kind: 'llm', usage: usageOf(1) })]).calls;
    if (call === undefined) throw new Error('The span is a call');
    const many = Array.from({ length: 6_000 }, (_, index) => ({ ...call, model: `m${index}` }));
    const merged = mergeCalls(many);
    expect(merged).toHaveLength(4_989);
    expect(merged.at(-1)).toMatchObject({ calls: 1_012, model: '', provider: '' });
    expect(sumsOf(merged)).toEqual(sumsOf(many));
  });

  test('that are one of their kind keep their span, so that feedback on it is found', () => {
    const [call] = summarizeExecution('p', [
      lightSpan({ spanId: 'a'.repeat(16), kind: 'llm', usage: usageOf(1) }),
    ]).calls;
    if (call === undefined) throw new Error('The span is a call');
    const alone = { ...call, spanId: 'b'.repeat(16), model: 'rare' };
    const merged = mergeCalls([alone, ...Array.from({ length: 5_000 }, () => call)]);
    expect(merged).toMatchObject([
      { calls: 1, spanId: alone.spanId },
      { calls: 5_000, spanId: '' },
    ]);
  });

  test('whose names make keys of one length over 16,383 characters are merged in a short time', () => {
    const [call] = summarizeExecution('p', [lightSpan({ kind: 'llm', usage: usageOf(1) })]).calls;
    if (call === undefined) throw new Error('The span is a call');
    // Six characters of JSON each. They differ at the end, so a comparison reads all of them.
    const long = '\u0001'.repeat(1_000);
    const prompt = { id: long, name: long, version: 0, key: '' };
    const many = Array.from({ length: 2_000 }, (_, index) => ({
      ...{ ...call, provider: long, model: long, prompt },
      ...{ startUnixNano: BigInt(index), prompt: { ...prompt, key: String(index + 1_000) } },
    }));
    const startMs = performance.now();
    expect(mergeCalls(many, 1_000)).toHaveLength(989);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test('of one model and prompt are one', () => {
    const call = summarizeExecution('p', [lightSpan({ spanId: 'a'.repeat(16), kind: 'llm', usage: usageOf(1) })]).calls;
    const many = Array.from({ length: 5_001 }, (_, index) =>
      call.map((each) => ({ ...each, startUnixNano: BigInt(index) * 10n ** 15n, durationMs: index })),
    ).flat();
    expect(mergeCalls(many)).toMatchObject([{ calls: 5_001, durationMs: expect.closeTo(2_500), spanId: '' }]);
  });
});

/** Adds up the calls that count. */
function sumsOf(calls: readonly ExecutionCall[]) {
  const counted = calls.filter((call) => call.counted);
  return {
    usage: Object.fromEntries(
      usageParts.map((part) => [part, counted.reduce((sum, { usage }) => sum + usage[part], 0)]),
    ),
    cost: counted.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0n), 0n),
    unpriced: counted.reduce((sum, { costNanoUsd, calls: many }) => sum + (costNanoUsd === null ? many : 0), 0),
  };
}
