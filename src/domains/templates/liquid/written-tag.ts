import type { Token } from 'liquidjs';

/**
 * Returns a tag as written. A line of `{% liquid %}` has no delimiters of its own, so they are
 * added.
 */
export function writtenTag(token: Token): string {
  const text = token.getText();
  return text.startsWith('{') ? text : `{% ${text.trim()} %}`;
}
