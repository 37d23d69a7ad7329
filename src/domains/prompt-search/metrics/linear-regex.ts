import { RE2JS, RE2JSException } from 're2js';

/** Characters of a pattern. Counted repetitions are expanded, so the engine limits them as well. */
export const patternCharsMax = 2_000;

/**
 * Compiles a pattern for an engine whose time grows with the length of the text alone (RE2), because
 * a pattern of a user could otherwise run for ever.
 * @returns the pattern, or why it is invalid
 */
export function compileLinear(pattern: string, ignoreCase: boolean): RE2JS | string {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    if (error instanceof RE2JSException) return error.message.slice(0, 300);
    throw error;
  }
}
