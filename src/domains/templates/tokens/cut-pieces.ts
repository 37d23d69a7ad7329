/** Some 6 ms of counting. */
export const pieceCharactersMax = 16_384;
/** As far back from there a place to cut is looked for. */
const lookBackMax = 4_096;

const letter = /\p{L}/u;
const afterWord = /[\s.,;:!?()。、，：；！？]/u;

/**
 * A long text in pieces that are counted one by one. Behind a letter and before a blank or a mark every encoding's pattern ends a
 * word (the patterns of tiktoken's openai_public.py), so such cuts change nothing; `exact` is false where there was none.
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

/** The last place up to `end` behind a word. */
function wordEnd(text: string, end: number): number | undefined {
  for (let at = end; at > end - lookBackMax; at--) {
    if (afterWord.test(text.charAt(at)) && letter.test(text.charAt(at - 1))) return at;
  }
  return undefined;
}

const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;
