import { isId } from '../../lib/ids.ts';
import { hashOfTemplateKey } from '../../lib/template-hash.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { findKnownPrompts, findPromptNames } from './prompt-link-store.ts';

/**
 * The names and keys that stored mentions of one prompt may contain, including mentions from before
 * the prompt was known.
 */
export interface PromptMentions {
  id: string;
  names: readonly string[];
  keys: readonly string[];
}

/**
 * Maximum number of template texts to search for: of all prompts of one request together, and of
 * one prompt. The newest texts of each prompt are used.
 */
const allTextsMax = 2_000;
const textsPerPromptMax = 1_000;

/**
 * Returns, for each of these prompts, the names and keys by which its executions and spans are found, with at
 * most three statements for any number of prompts. A name or text counts only if it belongs to the prompt
 * today. A slug that another prompt has taken over is left out. A prompt may be given by its id or slug. An
 * unknown one is searched for as it was sent.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findPromptMentions(
  postgres: Postgres,
  projectId: string,
  prompts: readonly string[],
  { textsMax = allTextsMax }: { textsMax?: number } = {},
): Promise<PromptMentions[]> {
  const slugs = prompts.filter((each) => !isId('prm', each) && hashOfTemplateKey(each) === undefined);
  const bySlug = slugs.length === 0 ? undefined : await findKnownPrompts(postgres, projectId, slugs);
  const promptIds = prompts.map((each) => bySlug?.get(each)?.id ?? each);
  const textsEach = Math.min(textsPerPromptMax, Math.floor(textsMax / promptIds.length));
  const called = await findPromptNames(postgres, projectId, promptIds, textsEach);
  const candidates = new Map(
    [...called].map(([id, { slug, name, templateKeys }]) => [id, new Set([id, slug, name, ...templateKeys])]),
  );
  const wanted = new Set([...candidates.values()].flatMap((each) => [...each]));
  const known = await findKnownPrompts(postgres, projectId, [...wanted]);
  return promptIds.map((id) => {
    const own = [...(candidates.get(id) ?? [])].filter((each) => known.get(each)?.id === id);
    if (!candidates.has(id)) return { id, names: [id], keys: [id] };
    return {
      id,
      names: own.filter((each) => hashOfTemplateKey(each) === undefined),
      keys: own.filter((each) => each === id || hashOfTemplateKey(each) !== undefined),
    };
  });
}
