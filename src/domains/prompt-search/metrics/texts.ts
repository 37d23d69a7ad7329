import { beginningOf } from '../../../lib/beginning-of.ts';

const quotedCharsMax = 300;

/** Returns the text of an expected value: strings as they are, other values as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Returns a text for feedback, cut to 300 characters. */
export const shorten = (text: string) => beginningOf(text, quotedCharsMax);

/** Returns a value in quotes for feedback, cut to 300 characters. */
export const quote = (value: unknown) => `"${shorten(textOf(value))}"`;

/** Recursive functions would use up the stack on values that are nested deeper. No model means such a value. */
const levelsMax = 100;

/**
 * Returns the JSON value of a text, which may stand in a fence; undefined if it is not JSON of at most 100
 * levels.
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(withoutFence(text.trim()));
    return isDeeperThan(levelsMax, value) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isDeeperThan(levels: number, root: unknown): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** Returns the JSON value between the first brace of a text and the last; undefined if there is none. */
export function parseJsonWithin(text: string): unknown {
  const [first, last] = [text.indexOf('{'), text.lastIndexOf('}')];
  return first < 0 || last < first ? undefined : parseJson(text.slice(first, last + 1));
}

const fence = '```';

/** Patterns for this take time with the square of some texts, so it is done by positions. */
function withoutFence(text: string): string {
  const end = text.indexOf('\n');
  if (!text.startsWith(fence) || !text.endsWith(fence) || end < 0) return text;
  return text.slice(end + 1, -fence.length);
}
