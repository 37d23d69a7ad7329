import type { BoundParameters } from './bound-parameters.ts';

export const wordsMax = 20;

/** The words of a search, in lower case: runs of letters and digits, where everything beyond ASCII counts as a letter. */
export function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[a-z0-9\u0080-\u{10ffff}]+/gu))];
}

/** SQL over `spans`: that all of the words are in the span's input or output. */
export function hasWords(words: readonly string[], parameters: BoundParameters): string {
  return `hasAllTokens(search_texts, ${parameters.bind('Array(String)', words)})`;
}
