import { describe, expect, test } from 'vitest';
import { compareScores, decideOutcome, type Score } from '../../../src/domains/prompt-search/search/decide.ts';

const score = (n: number, ci95: [number, number], p: number | null = null): Score => {
  const side = { mean: 0.5, ci95: [0.4, 0.6] as const };
  return { split: 'holdout', n, base: side, best: side, delta: { mean: (ci95[0] + ci95[1]) / 2, ci95, p } };
};
const usual = { isSeed: false, isComplete: true, minEffect: 0 };

describe('the outcome', () => {
  test.each<[string, Score | null, Partial<typeof usual>, string]>([
    ['the interval is above 0', score(30, [0.01, 0.2]), {}, 'improved'],
    ['the interval begins at 0', score(30, [0, 0.2]), {}, 'inconclusive'],
    ['the interval is above 0 and McNemar agrees', score(30, [0.01, 0.2], 0.05), {}, 'improved'],
    ['the interval is above 0 and McNemar does not agree', score(30, [0.01, 0.2], 0.0501), {}, 'inconclusive'],
    ['there are 19 pairs', score(19, [0.4, 0.9], 0.001), {}, 'inconclusive'],
    ['nothing was compared', null, {}, 'inconclusive'],
    ['nothing was compared, and the seed wins', null, { isSeed: true }, 'inconclusive'],
    ['the seed wins', score(30, [0, 0], 1), { isSeed: true }, 'no_improvement'],
    ['the interval ends at 0', score(30, [-0.2, 0]), {}, 'no_improvement'],
    ['the interval is not above the least effect', score(30, [0.01, 0.2]), { minEffect: 0.05 }, 'inconclusive'],
    ['the interval is below the least effect', score(30, [0.01, 0.04]), { minEffect: 0.05 }, 'no_improvement'],
    ['many pairs are missing', score(30, [0.1, 0.2]), { isComplete: false }, 'inconclusive'],
  ])('when %s', (_, given, options, outcome) => {
    expect(decideOutcome(given, { ...usual, ...options })).toBe(outcome);
  });
});

describe('the comparison', () => {
  test('of scores of 0 and 1 has the intervals of Wilson and the p of McNemar', async () => {
    const pairs = [
      ...new Array(10).fill({ base: 0, best: 1 }),
      ...new Array(2).fill({ base: 1, best: 0 }),
      ...new Array(8).fill({ base: 1, best: 1 }),
    ];
    const compared = await compareScores(pairs, { seed: 1, split: 'holdout' });
    expect(compared).toMatchObject({ n: 20, base: { mean: 0.5 }, best: { mean: 0.9 } });
    expect(compared.delta.mean).toBeCloseTo(0.4);
    expect(compared.delta.p).toBeCloseTo(0.0385742, 6);
    expect(compared.base.ci95[0]).toBeCloseTo(0.299298, 6);
  });

  test('of five gains in thirty rows, which may be chance, is not above 0 by McNemar, though its interval is', async () => {
    const pairs = Array.from({ length: 30 }, (_, index) => ({ base: index < 5 ? 0 : 1, best: 1 }));
    const compared = await compareScores(pairs, { seed: 1, split: 'holdout' });
    expect(compared.delta.ci95[0]).toBeGreaterThan(0);
    expect(compared.delta.p).toBeCloseTo(0.0625, 6);
    expect(decideOutcome(compared, usual)).toBe('inconclusive');
  });

  test('of other scores has no p', async () => {
    const pairs = Array.from({ length: 20 }, (_, index) => ({ base: index / 40, best: index / 40 + 0.1 }));
    const compared = await compareScores(pairs, { seed: 1, split: 'holdout' });
    expect(compared.delta.p).toBeNull();
    expect(compared.delta.ci95[0]).toBeCloseTo(0.1);
  });
});
