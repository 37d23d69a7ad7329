import { oneTurn, Pace, runInSlices } from '../../../lib/pace.ts';

/** A step takes well under a millisecond, even if a text could begin at each of its characters. */
const charsPerStep = 256;

/**
 * Returns those of the wanted short texts that occur in a long one, also within others. It reads the
 * long text once, however many are wanted. Other work runs in between.
 */
export function findTexts(text: string, wanted: ReadonlySet<string>): Promise<Set<string>> {
  return runInSlices(search(text, wanted), new Pace(oneTurn));
}

function* search(text: string, wanted: ReadonlySet<string>): Generator<void, Set<string>> {
  const beginnings = new Set([...wanted].flatMap(beginningsOf));
  const found = new Set<string>();
  for (let at = 0; at < text.length && found.size < wanted.size; at++) {
    if (at % charsPerStep === 0) yield;
    for (let end = at + 1; end <= text.length; end++) {
      const part = text.slice(at, end);
      if (!beginnings.has(part)) break;
      if (wanted.has(part)) found.add(part);
    }
  }
  return found;
}

function beginningsOf(text: string): string[] {
  return Array.from({ length: text.length }, (_, index) => text.slice(0, index + 1));
}
