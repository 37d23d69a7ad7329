/** Characters of one piece; counting them takes about 6 ms. */
export const pieceCharactersMax = 16_384;
/** Characters before the end of a piece in which a place to cut is searched. */
const lookBackMax = 1_024;

const letter = /\p{L}/u;
/** UTF-16 code units after a word: blanks and punctuation marks. A set, because a long text is looked at in many places. */
const afterWord = new Set(Array.from(' \t\n\r.,;:!?()。、，：；！？', (character) => character.charCodeAt(0)));

/**
 * Cuts a long text into pieces that are counted one by one. Between a letter and a following blank
 * or punctuation mark every encoding's pattern ends a word (the patterns of tiktoken's
 * openai_public.py), so a cut there does not change the count. `exact` is false when no such place
 * was found.
 */
export function cutPieces(text: string): { pieces: string[]; exact: boolean } {
  const pieces: string[] = [];
  let exact = true;
  let from = 0;
  while (text.length - from > pieceCharactersMax) {
    const end = from + pieceCharactersMax;
    const found = wordEnd(text, end);
    exact &&= found !== undefined;
    const to = found ?? (isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end);
    pieces.push(text.slice(from, to));
    from = to;
  }
  return { pieces: [...pieces, text.slice(from)], exact };
}

/** Finds the last end of a word up to `end`. */
function wordEnd(text: string, end: number): number | undefined {
  for (let at = end; at > end - lookBackMax; at--) {
    if (afterWord.has(text.charCodeAt(at)) && letter.test(text.charAt(at - 1))) return at;
  }
  return undefined;
}

const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;
