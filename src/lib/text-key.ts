import { hash } from 'node:crypto';

/**
 * Characters from which V8 hashes a text by its length alone (`String::kMaxHashCalcLength` is 16,383). A map or an object
 * compares each such key with all others of its length: four thousand of them take a minute.
 */
export const longKeyMin = 16_000;

/** Returns what stands for a text in a map or a set: the text, or its SHA-256 if it is long. */
export function textKey(text: string): string {
  return text.length < longKeyMin ? text : hash('sha256', text);
}
