import { canBeOne, type PromptFinder } from './known-prompts.ts';
import type { KnownPrompt, PromptMention, SpanPrompt } from './prompt.ts';

/**
 * Maximum number of distinct names in one question. Four times as many as {@link KnownPrompts} keeps of a project. A
 * thread posts them to the main thread, which reads them in one step.
 */
export const wantedMax = 2_000;

/**
 * Returns the mentions in their order. Mentions of prompts that the project has are linked, the
 * others stay unchanged. Looks up nothing when all are linked already, and at most the first {@link wantedMax} names:
 * the others stay unlinked until a later read. Never rejects: while Postgres is unavailable, all do.
 */
export async function resolvePromptRefs<Mention extends PromptMention>(
  known: PromptFinder,
  projectId: string,
  mentions: readonly Mention[],
): Promise<readonly Mention[]> {
  const wanted = namesOf(mentions);
  if (wanted.size === 0) return mentions;
  const found = await known.find(projectId, wanted);
  return mentions.map((mention) => {
    const prompt = mention.id === '' ? (found.get(mention.key) ?? found.get(mention.name)) : undefined;
    return prompt === undefined ? mention : linked(mention, prompt);
  });
}

/** Returns the names and keys by which the first unlinked mentions can be found. */
function namesOf(mentions: readonly PromptMention[]): Set<string> {
  const names = new Set<string>();
  for (const { id, key, name } of mentions) {
    if (names.size >= wantedMax) break;
    if (id === '') for (const each of [key, name]) if (each !== '' && canBeOne(each)) names.add(each);
  }
  return names;
}

/**
 * Links a mention. If several versions share the template text, the mentioned version is kept when
 * it is one of them; otherwise the newest is used. A prompt that was mentioned only by its id gets
 * its slug as name.
 */
function linked<Mention extends PromptMention>(mention: Mention, { id, slug, versions }: KnownPrompt): Mention {
  const [newest = mention.version] = versions;
  const version = versions.includes(mention.version) ? mention.version : newest;
  const name = mention.name === '' || mention.name === id ? slug : mention.name;
  return { ...mention, id, name, version, key: '' };
}

/**
 * Returns the spans with their prompts as known today, so that a prompt created later is linked
 * too. Never rejects.
 */
export async function resolveSpanPrompts<Span extends { prompt: SpanPrompt | null }>(
  known: PromptFinder,
  projectId: string,
  spans: readonly Span[],
): Promise<readonly Span[]> {
  const prompts = spans.flatMap(({ prompt }) => prompt ?? []);
  const resolved = await resolvePromptRefs(known, projectId, prompts);
  if (resolved === prompts) return spans;
  let next = 0;
  return spans.map((span) => (span.prompt === null ? span : { ...span, prompt: resolved[next++] ?? span.prompt }));
}
