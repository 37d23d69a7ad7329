const replacement = '\uFFFD';

/**
 * Returns a text as Postgres can store it, and as it reads it back: U+FFFD in place of NUL and of
 * halves of surrogate pairs.
 */
export function storableText(text: string): string {
  if (isStorableText(text)) return text;
  return text.replaceAll('\0', replacement).replace(/\p{Surrogate}/gu, replacement);
}

/**
 * Returns whether the databases can store a text. Postgres refuses NUL, and UTF-8 cannot encode
 * lone surrogates.
 */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
