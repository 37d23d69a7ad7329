export interface Word {
  text: string;
  start: number;
  end: number;
  /** The token before the word, in upper case. It distinguishes a keyword from a name with the same spelling. */
  previous: string;
}

/** Returns the words of a statement outside brackets, quotes and comments, in order. Offsets refer to `sql`. */
export function* topLevelWords(sql: string): Generator<Word> {
  let depth = 0;
  let previous = '';
  for (const match of sql.matchAll(TOKEN)) {
    const text = match[0];
    if (SKIPPED.test(text)) continue;
    if ('([{'.includes(text)) depth += 1;
    else if (')]}'.includes(text)) depth -= 1;
    else if (depth === 0 && WORD.test(text)) {
      yield { text, start: match.index, end: match.index + text.length, previous };
    }
    previous = text.toUpperCase();
  }
}

const COMMENT = String.raw`--[^\n]*|#[ !][^\n]*|/\*[\s\S]*?(?:\*/|$)`;
const quoted = (quote: string) => String.raw`${quote}(?:[^${quote}\\]|\\[\s\S]|${quote}${quote})*(?:${quote}|$)`;
const TOKEN = new RegExp(
  [COMMENT, ...["'", '"', '`'].map(quoted), String.raw`\w+`, String.raw`\s+`, '[^]'].join('|'),
  'g',
);
const SKIPPED = /^(?:\s|--|#[ !]|\/\*)/;
const WORD = /^[A-Za-z_]\w*$/;
