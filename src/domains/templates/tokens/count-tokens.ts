import type { TemplateThreads } from '../threads/template-threads.ts';
import type { EncodingName } from './count-in.ts';

export interface TokenCount {
  count: number;
  model: string | null;
  /** False only when the model's own encoding counted. */
  estimated: boolean;
}

/** Longer texts are estimated, as those are that take too long: some 4 characters make a token of English. */
const countedCharactersMax = 1_048_576;
const bytesPerToken = 4;
const limitMs = 2_000;

/**
 * Tokens of texts for a model, counted in a thread with OpenAI's encodings. Of other makers' models, whose encodings are not
 * public, o200k_base gives an estimate. Never rejects over a text: one that cannot be counted is estimated by its bytes.
 */
export async function countTokens(
  threads: TemplateThreads,
  texts: readonly string[],
  model: string | null,
): Promise<TokenCount> {
  const { encoding, exact } = encodingOf(model ?? '');
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  const counts = characters > countedCharactersMax ? undefined : await counted(threads, [...texts], encoding);
  if (counts === undefined) {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return { count: Math.ceil(bytes / bytesPerToken), model, estimated: true };
  }
  return { count: counts.reduce((sum, count) => sum + count, 0), model, estimated: !exact };
}

async function counted(
  threads: TemplateThreads,
  texts: string[],
  encoding: EncodingName,
): Promise<number[] | undefined> {
  try {
    return (await threads.run('countTokens', { texts, encoding }, limitMs)).counts;
  } catch {
    return undefined;
  }
}

/** OpenAI's families by the beginning of the name, as tiktoken's model.py has them. */
const families: readonly [RegExp, EncodingName][] = [
  [/^gpt-oss/, 'o200k_harmony'],
  [/^(?:gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-|codex-|o[134](?:-|$))/, 'o200k_base'],
  [/^(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-)/, 'cl100k_base'],
];

function encodingOf(model: string): { encoding: EncodingName; exact: boolean } {
  const name = model
    .toLowerCase()
    .replace(/^(?:openai|azure)\//, '')
    .replace(/^ft:/, '');
  const found = families.find(([family]) => family.test(name));
  return found === undefined ? { encoding: 'o200k_base', exact: false } : { encoding: found[1], exact: true };
}
