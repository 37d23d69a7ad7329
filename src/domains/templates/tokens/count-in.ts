import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import type { EncodeOptions } from 'gpt-tokenizer/GptEncoding';
import { cutWords } from './cut-words.ts';

interface Encoding {
  countTokens: (text: string, options?: EncodeOptions) => number;
  setMergeCacheSize: (words: number) => void;
}

/**
 * The encodings of current models, and the patterns by which they divide a text into words. Loading one takes about
 * 0.2 s and 50 MB, so each is loaded on first use.
 */
const encodings = {
  o200k_base: {
    load: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_base'),
    words: O200K_TOKEN_SPLIT_REGEX,
  },
  o200k_harmony: {
    load: (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_harmony'),
    words: O200K_TOKEN_SPLIT_REGEX,
  },
  cl100k_base: {
    load: (): Promise<Encoding> => import('gpt-tokenizer/encoding/cl100k_base'),
    words: CL100K_TOKEN_SPLIT_REGEX,
  },
};

export type EncodingName = keyof typeof encodings;

/**
 * Words of several tokens whose tokens each encoding remembers. A word may keep the whole text in memory that it is
 * part of, up to 32 KiB, so the 100,000 of the library could take more than the thread has.
 */
const rememberedWordsMax = 4_000;

/**
 * Loaded encodings. Importing a loaded module again still takes many times as long as counting a
 * short text.
 */
const loaded = new Map<EncodingName, Promise<Encoding>>();

/** Loads an encoding once per thread. */
export function loadEncoding(name: EncodingName): Promise<Encoding> {
  const loading = loaded.get(name) ?? load(name);
  loaded.set(name, loading);
  return loading;
}

async function load(name: EncodingName): Promise<Encoding> {
  const encoding = await encodings[name].load();
  encoding.setMergeCacheSize(rememberedWordsMax);
  return encoding;
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
    const pieces = cutWords(text, encodings[name].words);
    return { count: pieces.reduce((sum, piece) => sum + countTokens(piece, options), 0), exact: pieces.length === 1 };
  });
}
