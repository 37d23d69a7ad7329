import type { EncodeOptions } from 'gpt-tokenizer/GptEncoding';
import { cutRuns } from './cut-runs.ts';

interface Encoding {
  countTokens: (text: string, options?: EncodeOptions) => number;
}

/**
 * The encodings of current models. Loading one takes about 0.2 s and 50 MB, so each is loaded on
 * first use.
 */
const encodings = {
  o200k_base: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_base'),
  o200k_harmony: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_harmony'),
  cl100k_base: (): Promise<Encoding> => import('gpt-tokenizer/encoding/cl100k_base'),
};

export type EncodingName = keyof typeof encodings;

/**
 * Loaded encodings. Importing a loaded module again still takes many times as long as counting a
 * short text.
 */
const loaded = new Map<EncodingName, Promise<Encoding>>();

/** Loads an encoding once per thread. */
export function loadEncoding(name: EncodingName): Promise<Encoding> {
  const loading = loaded.get(name) ?? encodings[name]();
  loaded.set(name, loading);
  return loading;
}

/** Token count of a text. `exact` is false when the text had to be cut to limit the cost. */
export interface TextTokens {
  count: number;
  exact: boolean;
}

/**
 * Counts the tokens of each text in an encoding. Special tokens count as plain text, because a
 * prompt contains them as text.
 */
export async function countIn(name: EncodingName, texts: readonly string[]): Promise<TextTokens[]> {
  const { countTokens } = await loadEncoding(name);
  const options = { disallowedSpecial: new Set<string>() };
  return texts.map((text) => {
    const pieces = cutRuns(text);
    return { count: pieces.reduce((sum, piece) => sum + countTokens(piece, options), 0), exact: pieces.length === 1 };
  });
}
