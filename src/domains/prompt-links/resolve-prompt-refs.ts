import type { PromptFinder } from './known-prompts.ts';
import type { KnownPrompt, PromptMention } from './prompt.ts';

/**
 * The mentions in their order, those of prompts that the project has linked to them and the others as they were. Asks nothing
 * when all are linked already. Never rejects: a database that is away leaves mentions for a later reader.
 */
export async function resolvePromptRefs<Mention extends PromptMention>(
  known: PromptFinder,
  projectId: string,
  mentions: readonly Mention[],
): Promise<readonly Mention[]> {
  const wanted = new Set<string>();
  for (const { id, key, name } of mentions) {
    if (id !== '') continue;
    if (key !== '') wanted.add(key);
    if (name !== '') wanted.add(name);
  }
  if (wanted.size === 0) return mentions;
  const found = await known.find(projectId, wanted);
  return mentions.map((mention) => {
    const prompt = mention.id === '' ? (found.get(mention.key) ?? found.get(mention.name)) : undefined;
    return prompt === undefined ? mention : linked(mention, prompt);
  });
}

/**
 * A text that several versions share is that of the version the mention says, if it is one of them, else of the newest. A prompt
 * that was mentioned by its id alone is called by its slug.
 */
function linked<Mention extends PromptMention>(mention: Mention, { id, slug, versions }: KnownPrompt): Mention {
  const [newest = mention.version] = versions;
  const version = versions.includes(mention.version) ? mention.version : newest;
  const name = mention.name === '' || mention.name === id ? slug : mention.name;
  return { ...mention, id, name, version, key: '' };
}
