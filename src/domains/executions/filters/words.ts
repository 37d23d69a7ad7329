import type { BoundParameters } from './bound-parameters.ts';

export const wordsMax = 20;

/**
 * Returns the distinct words of a search in lower case. A word is a run of letters and digits;
 * every character beyond ASCII counts as a letter.
 */
export function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[a-z0-9\u0080-\u{10ffff}]+/gu))];
}

/** Returns SQL over `spans` that is true when all words are in the input or output of the span. */
export function hasWords(words: readonly string[], parameters: BoundParameters): string {
  return `hasAllTokens(search_texts, ${parameters.bind('Array(String)', words)})`;
}
