/**
 * Length at which a word is cut. Encoders take time that grows with the square of the longest word;
 * no word of a real text is this long.
 */
const wordCharactersMax = 128;

/**
 * Cuts a text within words that are longer than any real word, such as one letter or blank repeated
 * a million times. Any other text is returned as one piece.
 * @param words the pattern by which the encoding divides a text, with the flag `g`
 */
export function cutWords(text: string, words: RegExp): string[] {
  if (!mayHaveLongWord(text)) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(words)) {
    for (let at = wordCharactersMax; at < word.length; at += wordCharactersMax) {
      // Never between the halves of a surrogate pair.
      const to = index + at - Number(isLowSurrogate(word.charCodeAt(at)));
      pieces.push(text.slice(from, to));
      from = to;
    }
  }
  return [...pieces, text.slice(from)];
}

/** Every encoding ends a word between a letter and a blank. Looking for these costs a tenth of the pattern. */
function mayHaveLongWord(text: string): boolean {
  let from = 0;
  for (let at = 1; at < text.length; at++) {
    if (text.charCodeAt(at) === 0x20 && isAsciiLetter(text.charCodeAt(at - 1))) from = at;
    else if (at - from >= wordCharactersMax) return true;
  }
  return false;
}

const isAsciiLetter = (code: number) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;
