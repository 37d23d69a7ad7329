import { oneTurn, Pace, runInSlices } from '../../../lib/pace.ts';

/** Words of a copied span: shorter ones are common phrases. */
const spanWords = 8;

/**
 * Returns a span of eight words that a text has verbatim from one of the sources and that the base
 * does not have; undefined if there is none. Such a candidate knows a row by heart. Other work runs
 * in between, because the texts can be long.
 */
export async function findVerbatimSpan(
  text: string,
  sources: readonly string[],
  base: string,
): Promise<string | undefined> {
  if (sources.length === 0) return undefined;
  return runInSlices(compare(text, sources, base), new Pace(oneTurn));
}

/** The base is read last, because few candidates copy anything. */
function* compare(text: string, sources: readonly string[], base: string): Generator<void, string | undefined> {
  const own = new Set<string>();
  for (const span of spansOf(text)) {
    own.add(span);
    yield;
  }
  const copied = new Set<string>();
  for (const source of sources) {
    for (const span of spansOf(source)) {
      if (own.has(span)) copied.add(span);
      yield;
    }
  }
  if (copied.size === 0) return undefined;
  for (const span of spansOf(base)) {
    copied.delete(span);
    yield;
  }
  const [first] = copied;
  return first;
}

/** Yields the spans of a text in order. */
function* spansOf(text: string): Generator<string> {
  const words: string[] = [];
  for (const [word] of text.matchAll(/\S+/g)) {
    words.push(word.toLowerCase());
    if (words.length > spanWords) words.shift();
    if (words.length === spanWords) yield words.join(' ');
  }
}
