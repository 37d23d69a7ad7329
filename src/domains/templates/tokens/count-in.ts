import { encodings } from './encodings.ts';

/** Tokens of each text in a named encoding, which is loaded when it is first asked for. Special tokens count as plain text. */
export async function countIn(encoding: string, texts: readonly string[]): Promise<number[]> {
  const { countTokens } = await (encodings.get(encoding) ?? encodings.get('o200k_base') ?? fail)();
  const options = { disallowedSpecial: new Set<string>() };
  return texts.map((text) => countTokens(text, options));
}

function fail(): never {
  throw new Error('The default encoding is not in the table');
}
