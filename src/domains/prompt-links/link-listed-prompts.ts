import type { PromptFinder } from './known-prompts.ts';
import type { PromptRef, SpanPrompt } from './prompt.ts';
import { promptMention } from './prompt.ts';
import { resolvePromptRefs } from './resolve-prompt-refs.ts';

interface MentioningRow {
  prompt: SpanPrompt | null;
  normalized: { promptRef: PromptRef | null };
}

/**
 * Links rows whose span lists several prompts, after the first prompt of each has been looked up.
 * If that one is unknown, the row gets the first of the others that the project knows, or stays
 * unchanged. Looks up nothing when no row has other prompts. Never rejects.
 */
export async function linkListedPrompts<Row extends MentioningRow>(
  known: PromptFinder,
  projectId: string,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (!rows.some((row) => othersOf(row).length > 0)) return rows;
  const resolved = await resolvePromptRefs(known, projectId, rows.flatMap(othersOf));
  let next = 0;
  return rows.map((row) => {
    const start = next;
    next += othersOf(row).length;
    const prompt = resolved.slice(start, next).find(({ id }) => id !== '');
    return prompt === undefined ? row : { ...row, prompt };
  });
}

function othersOf({ prompt, normalized }: MentioningRow): SpanPrompt[] {
  if (prompt?.id !== '') return [];
  return (normalized.promptRef?.others ?? []).flatMap((ref) => promptMention(ref) ?? []);
}
