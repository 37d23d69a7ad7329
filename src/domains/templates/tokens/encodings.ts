import type { EncodeOptions } from 'gpt-tokenizer/GptEncoding';

type Encoding = { countTokens: (text: string, options?: EncodeOptions) => number };

/** The encodings models of today use; loading one takes some 0.2 s and 50 MB. */
export const encodings: ReadonlyMap<string, () => Promise<Encoding>> = new Map([
  ['o200k_base', (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_base')],
  ['o200k_harmony', (): Promise<Encoding> => import('gpt-tokenizer/encoding/o200k_harmony')],
  ['cl100k_base', (): Promise<Encoding> => import('gpt-tokenizer/encoding/cl100k_base')],
]);
