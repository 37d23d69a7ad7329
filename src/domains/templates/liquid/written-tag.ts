import type { Token } from 'liquidjs';

/** A tag as it is written; the lines of `{% liquid %}` are given the delimiters they have not. */
export function writtenTag(token: Token): string {
  const text = token.getText();
  return text.startsWith('{') ? text : `{% ${text.trim()} %}`;
}
