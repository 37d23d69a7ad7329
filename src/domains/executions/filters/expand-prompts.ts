import type { PromptMentions } from '../../prompts/index.ts';
import type { BoundValue, Condition } from './condition.ts';
import { executionFields } from './execution-fields.ts';

/**
 * The condition with every prompt id beside what else stored mentions of that prompt say: its names, and what was sent before it was
 * known. Rejects as `mentionsOf` does.
 */
export async function expandPrompts(
  condition: Condition,
  mentionsOf: (promptId: string) => Promise<PromptMentions>,
): Promise<Condition> {
  const expand = async (ids: readonly BoundValue[]): Promise<BoundValue[]> => {
    const mentions = await Promise.all(ids.map((id) => mentionsOf(String(id))));
    return mentions.flatMap(({ id, names, keys }) => [...new Set([id, ...names, ...keys])]);
  };
  const all = (parts: readonly Condition[]) => Promise.all(parts.map((part) => expandPrompts(part, mentionsOf)));
  if ('all' in condition) return { all: await all(condition.all) };
  if ('any' in condition) return { any: await all(condition.any) };
  if ('not' in condition) return { not: await expandPrompts(condition.not, mentionsOf) };
  if ('prompt' in condition) {
    const { ids, version } = condition.prompt;
    return { prompt: { ids: await expand(ids), version } };
  }
  if (!('field' in condition) || condition.field !== executionFields.prompt_id || condition.op === 'exists') {
    return condition;
  }
  return { ...condition, values: await expand(condition.values) };
}
