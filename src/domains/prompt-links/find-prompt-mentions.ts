import type { Postgres } from '../../stores/postgres/client.ts';
import { hashOfTemplateKey } from './prompt.ts';
import { findKnownPrompts, findPromptNames } from './prompt-link-store.ts';

/** How stored mentions call one prompt, those that were stored before it was known among them. */
export interface PromptMentions {
  id: string;
  names: readonly string[];
  keys: readonly string[];
}

/** Texts of templates that are looked for, of all prompts that one request asks about together; the newest of each. */
const textsMax = 2_000;
const textsPerPromptMax = 1_000;

/**
 * By what executions and spans of these prompts are found, in two statements however many they are. Only names and texts that mean a
 * prompt today count: a slug that another prompt has taken over is that one's. An unknown id finds what was sent with it. Throws
 * UnavailableError.
 */
export async function findPromptMentions(
  postgres: Postgres,
  projectId: string,
  promptIds: readonly string[],
): Promise<PromptMentions[]> {
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
