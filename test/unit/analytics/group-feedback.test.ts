import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupFeedback, noFeedback, type PromptFeedback } from '../../../src/domains/analytics/feedback-of-prompt.ts';

const keysOfVersion = (version: number | null) => (version === null ? [] : [String(version)]);
const on = (traceId: string | null, more: Partial<PromptFeedback> = {}): PromptFeedback => ({
  ...{ traceId, spanId: null, promptVersion: null, score: 1 },
  ...more,
});

describe('feedback by group', () => {
  it('on an execution counts once for each group that has a call in it, and once in all', async () => {
    const calls = [
      { traceId: 't', spanId: 's', keys: ['a'] },
      { traceId: 't', spanId: '', keys: ['a', 'b'] },
      { traceId: 'other', spanId: '', keys: ['c'] },
    ];
    const { all, byKey } = await groupFeedback([on('t'), on('t', { score: null }), on('unknown')], calls, {
      isWanted: () => true,
      keysOfVersion,
    });
    const both = { count: 2, scored: 1, score: 1, positive: 1 };
    expect(all).toEqual(both);
    expect([...byKey]).toEqual([
      ['a', both],
      ['b', both],
    ]);
  });

  it('is what counting each feedback for each group gives', async () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const feedback = fc.array(
      fc.record({
        traceId: fc.option(name),
        spanId: fc.option(name),
        promptVersion: fc.option(fc.constantFrom(1, 2)),
        score: fc.option(fc.constantFrom(0, 0.5, 1)),
      }),
    );
    const call = fc.record({
      traceId: name,
      spanId: fc.oneof(name, fc.constant('')),
      keys: fc.uniqueArray(fc.constantFrom('1', '2', 'x', 'y')),
    });
    const calls = fc.uniqueArray(call, { selector: ({ traceId, spanId }) => `${traceId}/${spanId}` });
    await fc.assert(
      fc.asyncProperty(feedback, calls, async (given, of) => {
        const grouped = await groupFeedback(given, of, { isWanted: (key) => key !== 'y', keysOfVersion });
        for (const key of ['1', '2', 'x', 'y']) {
          const expected = noFeedback();
          for (const each of given) {
            const { traceId, spanId } = each;
            const about = of.filter((one) => one.traceId === traceId && (spanId === null || one.spanId === spanId));
            const keys = traceId === null ? keysOfVersion(each.promptVersion) : about.flatMap((one) => one.keys);
            if (key === 'y' || !keys.includes(key)) continue;
            expected.count++;
            if (each.score === null) continue;
            expected.scored++;
            expected.score += each.score;
            if (each.score > 0.5) expected.positive++;
          }
          expect(grouped.byKey.get(key) ?? noFeedback()).toEqual(expected);
        }
      }),
    );
  });

  it('takes time by the feedback and the keys, not by their product', async () => {
    const calls = [{ traceId: 't', spanId: '', keys: Array.from({ length: 5_000 }, (_, index) => `model ${index}`) }];
    const wanted = new Set(calls[0]?.keys);
    const startedAtMs = performance.now();
    const { byKey } = await groupFeedback(
      Array.from({ length: 3_500 }, () => on('t')),
      calls,
      {
        isWanted: (key) => wanted.has(key),
        keysOfVersion,
      },
    );
    expect(performance.now() - startedAtMs).toBeLessThan(250);
    expect(byKey.get('model 4999')?.count).toBe(3_500);
  });
});
