import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { LightSpan } from '../../../src/domains/spans/light-span.ts';
import { writeSummary } from '../../../src/domains/summaries/execution-summary.ts';
import {
  missingParents,
  summarizeExecution,
  summarizeExecutions,
} from '../../../src/domains/summaries/summarize-execution.ts';
import { countTurns } from '../../support/count-turns.ts';
import { lightSpan } from '../../support/light-span.ts';

const traceId = 'a'.repeat(32);
const receivedAtMs = Date.UTC(2026, 5, 1);

function light(given: Partial<LightSpan> = {}): LightSpan {
  const times = { receivedAtMs, retentionDays: 30, startUnixNano: 1_000n, endUnixNano: 2_000n };
  return lightSpan({ traceId, name: 'span', ...times, ...given });
}

const spanIds = Array.from({ length: 8 }, (_, index) => `000000000000000${index + 1}`);
const word = fc.constantFrom('', 'a', 'b', 'c');
const tokens = fc.nat({ max: 2 ** 31 - 1 });

/** Any set of spans of one trace: orphans, cycles, several roots and equal times among them. */
const anySpans = fc.uniqueArray(
  fc
    .record({
      spanId: fc.constantFrom(...spanIds),
      parentSpanId: fc.constantFrom('', 'ffffffffffffffff', ...spanIds),
      receivedAtMs: fc.integer({ min: receivedAtMs, max: receivedAtMs + 10_000 }),
      startUnixNano: fc.bigInt({ min: 0n, max: 5n }),
      endUnixNano: fc.bigInt({ min: 0n, max: 9n }),
      kind: fc.constantFrom('llm', 'agent', 'tool', 'other'),
      name: word,
      status: fc.constantFrom('unset', 'ok', 'error'),
      model: word,
      sessionId: word,
      userId: word,
      inputPreview: word,
      outputPreview: word,
      responseId: word,
      tags: fc.array(word, { maxLength: 2 }),
      costNanoUsd: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n })),
      usage: fc.option(
        fc.record({
          inputTokens: tokens,
          outputTokens: tokens,
          cacheReadTokens: tokens,
          cacheWriteTokens: tokens,
          reasoningTokens: tokens,
          totalTokens: tokens,
        }),
      ),
    })
    .map((given) => light(given)),
  { selector: ({ spanId }) => spanId, minLength: 1 },
);

describe('a summary', () => {
  test('does not depend on the order in which the spans are given', () => {
    const shuffled = anySpans.chain((spans) =>
      fc.tuple(fc.constant(spans), fc.shuffledSubarray(spans, { minLength: spans.length })),
    );
    fc.assert(
      fc.property(shuffled, ([spans, others]) => {
        expect(summarizeExecution('p', others)).toEqual(summarizeExecution('p', spans));
      }),
    );
  });

  test('has the version that it is given, and 0 without one', () => {
    fc.assert(
      fc.property(anySpans, fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (spans, version) => {
        expect(summarizeExecution('p', spans, version).version).toBe(version);
        expect(summarizeExecution('p', spans).version).toBe(0n);
      }),
    );
  });

  test('of more models, providers, prompts and tags than 64 has the first 64 of each and the number of the others', () => {
    const spans = Array.from({ length: 100 }, (_, index) =>
      light({
        spanId: index.toString(16).padStart(16, '0'),
        startUnixNano: BigInt(index),
        kind: 'llm',
        model: `model ${index}`,
        provider: `provider ${index}`,
        costNanoUsd: 1n,
        prompt: { id: `p${index}`, name: '', version: 1, key: '', rawVersion: '', source: 'self' },
        tags: [`tag ${index}`, `other ${index}`],
      }),
    );
    const summary = summarizeExecution('p', spans);
    expect(summary.omitted).toEqual({ models: 36, providers: 36, prompts: 36, tags: 136 });
    const { models, providers, prompts, tags } = summary;
    expect([models, providers, prompts, tags].map((set) => set.length)).toEqual([64, 64, 64, 64]);
    expect([models[63], tags[0], tags[63]]).toEqual(['model 63', 'tag 0', 'other 31']);
  });

  test('of sets of long names stays below 40,000 characters', () => {
    const name = (index: number) => String.fromCodePoint(0x4e00 + index).repeat(1_024);
    const spans = Array.from({ length: 64 }, (_, index) =>
      light({
        spanId: index.toString(16).padStart(16, '0'),
        kind: 'llm',
        model: name(index),
        provider: name(index),
        costNanoUsd: 1n,
        tags: Array.from({ length: 64 }, (_, nth) => `${index}:${nth}`.padEnd(256, 'x')),
        prompt: { id: '', name: name(index), version: 1, key: name(index), rawVersion: '', source: 'self' },
      }),
    );
    const summary = summarizeExecution('p', spans);
    expect(writeSummary(summary).length).toBeLessThan(40_000);
    expect(summary.omitted).toEqual({ models: 56, providers: 56, prompts: 60, tags: 64 * 64 - 32 });
  });

  test('of costs beyond 64 bits costs what 64 bits can say', () => {
    const costly = (spanId: string) => light({ spanId, kind: 'llm', costNanoUsd: 2n ** 62n });
    const spans = ['1', '2', '3'].map((digit) => costly(digit.repeat(16)));
    expect(summarizeExecution('p', spans.slice(0, 1)).costNanoUsd).toBe(2n ** 62n);
    expect(summarizeExecution('p', spans).costNanoUsd).toBe(2n ** 63n - 1n);
  });

  test('counts every span once and spans its earliest start to its latest end', () => {
    fc.assert(
      fc.property(anySpans, (spans) => {
        const summary = summarizeExecution('p', spans);
        expect(summary.spanCount).toBe(spans.length);
        expect(summary.complete).toBe(spans.some(({ parentSpanId }) => parentSpanId === ''));
        expect(spans.every(({ startUnixNano }) => summary.startUnixNano <= startUnixNano)).toBe(true);
        const timed = spans.filter(({ startUnixNano }) => startUnixNano > 0n);
        expect(timed.every(({ endUnixNano }) => summary.endUnixNano >= endUnixNano)).toBe(true);
        expect(summary.endUnixNano >= summary.startUnixNano).toBe(true);
      }),
    );
  });

  test('of several roots is named by the earliest', () => {
    const spans = [
      light({ spanId: '0000000000000001', startUnixNano: 5n, name: 'late root', status: 'error' }),
      light({ spanId: '0000000000000002', startUnixNano: 4n, name: 'early root', status: 'ok' }),
      light({ spanId: '0000000000000003', startUnixNano: 1n, name: 'orphan', parentSpanId: 'ffffffffffffffff' }),
    ];
    expect(summarizeExecution('p', spans)).toMatchObject({ name: 'early root', status: 'ok', errorCount: 1 });
  });

  test('without a root is named by the earliest orphan, not by the earliest span', () => {
    const spans = [
      light({ spanId: '0000000000000001', parentSpanId: '0000000000000002', startUnixNano: 1n, name: 'child' }),
      light({ spanId: '0000000000000002', parentSpanId: 'ffffffffffffffff', startUnixNano: 2n, name: 'orphan' }),
    ];
    expect(summarizeExecution('p', spans)).toMatchObject({ name: 'orphan', complete: false });
    expect(missingParents(spans)).toEqual(['ffffffffffffffff']);
  });

  test("has its root's session and user, also when a child with a fast clock began before it", () => {
    const root = light({ startUnixNano: 5n, sessionId: 'of the root', userId: '' });
    const child = { parentSpanId: root.spanId, startUnixNano: 1n, sessionId: 'of the child', userId: 'of the child' };
    const summary = summarizeExecution('p', [root, light({ spanId: '0000000000000002', ...child })]);
    expect(summary).toMatchObject({ sessionId: 'of the root', userId: 'of the child', startUnixNano: 1n });
  });

  test('names the models and providers of all its model calls, failed ones and those without usage too, by their starts', () => {
    const usage = {
      inputTokens: 1,
      outputTokens: 1,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      totalTokens: 2,
    };
    const call = (place: number, given: Partial<LightSpan>) =>
      light({
        spanId: `000000000000001${place}`,
        parentSpanId: '0000000000000001',
        startUnixNano: BigInt(place),
        ...given,
      });
    const spans = [
      light({ kind: 'agent', model: 'of the agent', provider: 'agent', usage, startUnixNano: 0n }),
      call(1, { kind: 'llm', model: 'failed', provider: 'a', status: 'error' }),
      call(2, { kind: 'embedding', model: 'embedded', provider: 'b' }),
      call(3, { kind: 'reranker', model: 'ranked', provider: 'a' }),
      call(4, { kind: 'llm', model: 'counted', provider: 'c', usage }),
      call(5, { kind: 'tool', model: 'of a tool', provider: 'd' }),
    ];
    for (const given of [spans, spans.toReversed()]) {
      expect(summarizeExecution('p', given)).toMatchObject({
        models: ['failed', 'embedded', 'ranked', 'counted'],
        providers: ['a', 'b', 'c'],
      });
    }
  });

  test('names the model of another span whose usage counts', () => {
    const usage = { inputTokens: 1, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    const agent = light({ kind: 'agent', model: 'm', provider: 'p', usage: { ...usage, totalTokens: 1 } });
    expect(summarizeExecution('p', [agent])).toMatchObject({ models: ['m'], providers: ['p'] });
  });

  test('names each version of a prompt once, with its uses', () => {
    const prompt = { id: '', name: 'greet', version: 3, rawVersion: '3', source: 'self', key: '' };
    const spans = [
      light({ spanId: '0000000000000001', prompt: { ...prompt, name: '', key: 'sha256:00' } }),
      light({ spanId: '0000000000000002', prompt }),
      light({ spanId: '0000000000000003', prompt: { ...prompt, rawVersion: 'v3' } }),
    ];
    expect(summarizeExecution('p', spans).prompts).toEqual([
      { id: '', name: '', version: 3, key: 'sha256:00', calls: 1 },
      { id: '', name: 'greet', version: 3, key: '', calls: 2 },
    ]);
  });
});

describe('summaries of several traces', () => {
  afterEach(() => void vi.restoreAllMocks());

  test('let other work run after each trace, and after some thousand tags of one', async () => {
    // A slice ends with each look at the clock.
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 5));
    const manyTags = Array.from({ length: 2_000 }, (_, index) =>
      light({
        spanId: index.toString(16).padStart(16, '0'),
        tags: Array.from({ length: 64 }, (_, nth) => `tag ${index}.${nth}`),
      }),
    );
    const small = [light({ traceId: 'b'.repeat(32), tags: ['x', '', 'x'] })];
    const traces = [manyTags, small, small];
    const { result, turns } = await countTurns(() => summarizeExecutions('p', traces, 1n));
    expect(turns).toBeGreaterThanOrEqual(30 + traces.length);
    expect(result).toEqual(traces.map((spans) => summarizeExecution('p', spans, 1n)));
    expect([result[0]?.omitted.tags, result[1]?.tags]).toEqual([128_000 - 64, ['x']]);
  });
});
