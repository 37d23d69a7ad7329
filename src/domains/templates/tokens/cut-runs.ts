/** Encoders take time that grows with the square of the longest word; no word of a real text is longer than this. */
const runCharactersMax = 128;

const [space, digit, word, mark] = [0, 1, 2, 3];

/**
 * A text in pieces between which the words of an encoding's pattern that are longer than any real one are cut: such as the same
 * letter a million times, or blanks. One piece, the text itself, of all others.
 */
export function cutRuns(text: string): string[] {
  const pieces: string[] = [];
  let [from, run, last] = [0, 0, -1];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = kindOf(code);
    run = kind === last && kind !== digit ? run + 1 : 1;
    last = kind;
    // Never between the halves of a surrogate pair.
    if (run <= runCharactersMax || (code >= 0xdc00 && code <= 0xdfff)) continue;
    pieces.push(text.slice(from, at));
    [from, run] = [at, 1];
  }
  return from === 0 ? [text] : [...pieces, text.slice(from)];
}

/** Roughly as the encodings' patterns divide a text: what is divided there and not here is cut too early at worst. */
function kindOf(code: number): number {
  if (code <= 0x20 || code === 0xa0 || code === 0x85) return space;
  if (code >= 0x30 && code <= 0x39) return digit;
  if (code > 0x7f) return isMark(code) ? mark : word;
  return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a ? word : mark;
}

/** Punctuation: general, CJK, and its full-width forms. */
function isMark(code: number): boolean {
  return (
    (code >= 0x2000 && code <= 0x206f) ||
    (code >= 0x3000 && code <= 0x303f) ||
    (code >= 0xff01 && code <= 0xff0f) ||
    (code >= 0xff1a && code <= 0xff20)
  );
}
