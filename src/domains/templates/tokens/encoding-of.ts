import type { EncodingName } from './count-in.ts';

/** OpenAI's model families by name prefix, from tiktoken's model.py. */
const families: readonly [RegExp, EncodingName][] = [
  [/^gpt-oss/, 'o200k_harmony'],
  [/^(?:gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-|codex-|o[134](?:-|$))/, 'o200k_base'],
  [/^(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-)/, 'cl100k_base'],
];

/**
 * Returns the encoding of a model. `exact` is false when another encoding replaces the model's own,
 * which is not public.
 */
export function encodingOf(model: string): { encoding: EncodingName; exact: boolean } {
  const name = model
    .toLowerCase()
    .replace(/^(?:openai|azure)\//, '')
    .replace(/^ft:/, '');
  const found = families.find(([family]) => family.test(name));
  return found === undefined ? { encoding: 'o200k_base', exact: false } : { encoding: found[1], exact: true };
}
