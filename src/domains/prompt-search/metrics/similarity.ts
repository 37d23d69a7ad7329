import { z } from 'zod';
import { metricType } from './metric.ts';
import { quote, textOf } from './texts.ts';

const options = z.strictObject({
  method: z.enum(['levenshtein', 'token_f1']).default('token_f1'),
  ignore_case: z.boolean().default(true),
});

const spanChars = 60;

/** How alike the output and the expected text are, from 0 to 1. */
export const similarity = metricType({
  options,
  needsExpected: () => true,
  prepare: ({ method, ignore_case: ignoreCase }) => ({
    kind: 'plain',
    score: ({ output, expected }) => {
      const { charsMax, compare } = methods[method];
      const fold = (text: string) => {
        // No text gets shorter in lower case, and some get longer.
        const beginning = text.trim().slice(0, charsMax);
        return ignoreCase ? beginning.toLowerCase().slice(0, charsMax) : beginning;
      };
      const [got, wanted] = [fold(output), fold(textOf(expected))];
      if (got === wanted) return { score: 1, feedback: '' };
      const at = firstDifference(got, wanted);
      const span = (text: string) => quote(text.slice(Math.max(0, at - 10), at + spanChars));
      return {
        score: compare(got, wanted),
        feedback: `Expected ${span(wanted)} but got ${span(got)} at character ${at}.`,
      };
    },
  }),
});

/** How texts are compared, and how much of them. Levenshtein's time grows with the square: about 10 ms. */
const methods = {
  levenshtein: { charsMax: 1_000, compare: levenshteinSimilarity },
  token_f1: { charsMax: 20_000, compare: tokenF1 },
};

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

/** Returns 1 less the edit distance (V. I. Levenshtein, 1965) as a share of the longer text. */
export function levenshteinSimilarity(a: string, b: string): number {
  let row = Uint16Array.from({ length: b.length + 1 }, (_, index) => index);
  let next = new Uint16Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    next[0] = i;
    const code = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (code === b.charCodeAt(j - 1) ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    [row, next] = [next, row];
  }
  const longer = Math.max(a.length, b.length);
  return longer === 0 ? 1 : 1 - (row[b.length] ?? 0) / longer;
}

/** Returns the harmonic mean of the shares of words that both texts have (as SQuAD's F1). */
export function tokenF1(a: string, b: string): number {
  const [left, right] = [countWords(a), countWords(b)];
  let common = 0;
  for (const [word, count] of left) common += Math.min(count, right.get(word) ?? 0);
  const size = (words: Map<string, number>) => [...words.values()].reduce((sum, count) => sum + count, 0);
  const total = size(left) + size(right);
  return total === 0 ? 1 : (2 * common) / total;
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of text.match(/[\p{L}\p{N}]+/gu) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
