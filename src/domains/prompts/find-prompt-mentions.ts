import type { Postgres } from '../../stores/postgres/client.ts';
import { hashOfTemplateKey } from './prompt.ts';
import { findKnownPrompts, findPromptNames } from './prompt-link-store.ts';

/** How stored mentions call one prompt, those that were stored before it was known among them. */
export interface PromptMentions {
  id: string;
  names: readonly string[];
  keys: readonly string[];
}

/**
 * By what executions and spans of a prompt are found. Only names and texts that mean this prompt today count: a slug that another
 * prompt has taken over is that one's. An unknown id finds what was sent with it. Throws UnavailableError.
 */
export async function findPromptMentions(
  postgres: Postgres,
  projectId: string,
  promptId: string,
): Promise<PromptMentions> {
  const called = await findPromptNames(postgres, projectId, promptId);
  if (called === undefined) return { id: promptId, names: [promptId], keys: [promptId] };
  const candidates = [promptId, called.slug, called.name, ...called.templateKeys];
  const known = await findKnownPrompts(postgres, projectId, candidates);
  const own = [...new Set(candidates)].filter((each) => known.get(each)?.id === promptId);
  return {
    id: promptId,
    names: own.filter((each) => hashOfTemplateKey(each) === undefined),
    keys: own.filter((each) => each === promptId || hashOfTemplateKey(each) !== undefined),
  };
}
