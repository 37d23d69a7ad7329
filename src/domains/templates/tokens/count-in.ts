import type { EncodeOptions } from 'gpt-tokenizer/GptEncoding';
import { cutRuns } from './cut-runs.ts';

interface Encoding {
  countTokens: (text: string, options?: EncodeOptions) => number;
}

/** The encodings models of today use; loading one takes some 0.2 s and 50 MB, so each waits until it is asked for. */
const encodings = {
  o200k_base: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_base'),
  o200k_harmony: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_harmony'),
  cl100k_base: (): Promise<Encoding> => import('gpt-tokenizer/encoding/cl100k_base'),
};

export type EncodingName = keyof typeof encodings;

/** An import of what is loaded already still takes many times as long as counting a short text. */
const loaded = new Map<EncodingName, Promise<Encoding>>();

export function loadEncoding(name: EncodingName): Promise<Encoding> {
  const loading = loaded.get(name) ?? encodings[name]();
  loaded.set(name, loading);
  return loading;
}

/** Tokens of a text; `exact` unless it had to be cut for its sake and ours. */
export interface TextTokens {
  count: number;
  exact: boolean;
}

/** Tokens of each text in a named encoding. Special tokens count as the plain text they are in a prompt. */
export async function countIn(name: EncodingName, texts: readonly string[]): Promise<TextTokens[]> {
  const { countTokens } = await loadEncoding(name);
  const options = { disallowedSpecial: new Set<string>() };
  return texts.map((text) => {
    const pieces = cutRuns(text);
    return { count: pieces.reduce((sum, piece) => sum + countTokens(piece, options), 0), exact: pieces.length === 1 };
  });
}
