/**
 * Length at which a word is cut. Encoders take time that grows with the square of the longest word;
 * no word of a real text is this long.
 */
const runCharactersMax = 128;

const [space, digit, word, mark] = [0, 1, 2, 3];

/**
 * Cuts a text within words that are longer than any real word, such as one letter or blank repeated
 * a million times. Any other text is returned as one piece.
 */
export function cutRuns(text: string): string[] {
  const pieces: string[] = [];
  let [from, run, last] = [0, 0, -1];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = kindOf(code);
    run = kind === last && kind !== digit ? run + 1 : 1;
    last = kind;
    // Never cut between the halves of a surrogate pair.
    if (run <= runCharactersMax || (code >= 0xdc00 && code <= 0xdfff)) continue;
    pieces.push(text.slice(from, at));
    [from, run] = [at, 1];
  }
  return from === 0 ? [text] : [...pieces, text.slice(from)];
}

/**
 * Classifies a character roughly as the encodings' patterns do. Where the patterns divide a text
 * and this function does not, a word is at worst cut too early.
 */
function kindOf(code: number): number {
  if (code <= 0x20 || code === 0xa0 || code === 0x85) return space;
  if (code >= 0x30 && code <= 0x39) return digit;
  if (code > 0x7f) return isMark(code) ? mark : word;
  return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a ? word : mark;
}

/** Returns whether a character is general, CJK or full-width punctuation. */
function isMark(code: number): boolean {
  return (
    (code >= 0x2000 && code <= 0x206f) ||
    (code >= 0x3000 && code <= 0x303f) ||
    (code >= 0xff01 && code <= 0xff0f) ||
    (code >= 0xff1a && code <= 0xff20)
  );
}
