/** Returns the first `charsMax` characters of a text, and "…" if there are more. */
export function beginningOf(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${copyOf(text.slice(0, charsMax))}…`;
}

/** Returns an equal text that does not keep a longer one in memory, as the result of `slice` does. */
export function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
