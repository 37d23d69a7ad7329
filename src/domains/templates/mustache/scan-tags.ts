/** One tag of a Mustache template, as UTF-16 offsets of its source. */
export interface Tag {
  /**
   * `''` for a variable, otherwise `#`, `^`, `/`, `>`, `!`, `&`, `{`, or one of the refused `=`,
   * `<`, `$`.
   */
  sigil: string;
  /** The text between the sigil and the closing braces. */
  inside: string;
  begin: number;
  end: number;
}

const sigils = new Set(['#', '^', '/', '>', '!', '&', '{', '=', '<', '$']);

/**
 * Finds the first tag at or after `from`. Returns undefined when there is none, and the offset of
 * the tag as `unclosed` when it does not end.
 */
export function nextTag(source: string, from: number): Tag | { unclosed: number } | undefined {
  const begin = source.indexOf('{{', from);
  if (begin === -1) return undefined;
  const first = source.charAt(begin + 2);
  const sigil = sigils.has(first) ? first : '';
  const insideBegin = begin + 2 + sigil.length;
  const close = sigil === '{' ? '}}}' : '}}';
  const insideEnd = sigil === '>' ? endOfPart(source, insideBegin) : source.indexOf(close, insideBegin);
  if (insideEnd === -1) return { unclosed: begin };
  const inside = source.slice(insideBegin, insideEnd);
  return { sigil, inside, begin, end: insideEnd + close.length };
}

/**
 * Finds the end of a part tag. Braces within the quotes of an argument do not close the tag, unless
 * a quote is never closed.
 */
function endOfPart(source: string, from: number): number {
  let quote = '';
  for (let at = from; at < source.length; at++) {
    const character = source.charAt(at);
    if (quote !== '') {
      if (character === '\\') at++;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (character === '}' && source.charAt(at + 1) === '}') {
      return at;
    } else if (character === '{' && source.charAt(at + 1) === '{') {
      break;
    }
  }
  return source.indexOf('}}', from);
}

/**
 * Returns where the line of a tag that is alone on its line begins and where the next line begins;
 * undefined for a tag within a line. `from` is where the text before the tag begins.
 */
export function ownLine(source: string, { begin, end }: Tag, from: number): { from: number; to: number } | undefined {
  let before = begin;
  while (before > from && isBlank(source.charCodeAt(before - 1))) before--;
  if (before > 0 && source.charCodeAt(before - 1) !== newline) return undefined;
  let after = end;
  while (after < source.length && isBlank(source.charCodeAt(after))) after++;
  if (after === source.length) return { from: before, to: after };
  if (source.charCodeAt(after) === newline) return { from: before, to: after + 1 };
  return source.startsWith('\r\n', after) ? { from: before, to: after + 2 } : undefined;
}

const newline = 10;
const isBlank = (code: number) => code === 32 || code === 9;
