/** Words of a copied span: shorter ones are common phrases. */
const spanWords = 8;

/**
 * Returns a span of eight words that a text has verbatim from one of the sources and that the base
 * does not have; undefined if there is none. Such a candidate knows a row by heart.
 */
export function findVerbatimSpan(text: string, sources: readonly string[], base: string): string | undefined {
  const own = spansOf(text);
  for (const span of spansOf(base)) own.delete(span);
  if (own.size === 0) return undefined;
  for (const source of sources) {
    for (const span of spansOf(source)) if (own.has(span)) return span;
  }
  return undefined;
}

function spansOf(text: string): Set<string> {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const spans = new Set<string>();
  for (let at = 0; at + spanWords <= words.length; at++) spans.add(words.slice(at, at + spanWords).join(' '));
  return spans;
}
