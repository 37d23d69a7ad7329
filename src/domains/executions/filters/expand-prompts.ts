import type { PromptMentions } from '../../prompt-links/index.ts';
import { promptIdsIn, promptIdsOf } from './bound-cost.ts';
import type { Condition } from './condition.ts';
import type { BoundValue } from './operators.ts';

/**
 * Adds to every prompt id in the condition what stored mentions of that prompt may contain instead:
 * its names, and what was sent before the prompt was known. Calls `mentionsOf` once for all ids,
 * and not at all without ids.
 * @throws what `mentionsOf` throws
 */
export async function expandPrompts(
  condition: Condition,
  mentionsOf: (promptIds: readonly string[]) => Promise<readonly PromptMentions[]>,
): Promise<Condition> {
  const ids = promptIdsIn(condition);
  if (ids.length === 0) return condition;
  const mentions = new Map((await mentionsOf([...new Set(ids)])).map((each) => [each.id, each]));
  return expanded(condition, (id) => {
    const { names, keys } = mentions.get(String(id)) ?? { names: [], keys: [] };
    return [...new Set([id, ...names, ...keys])];
  });
}

function expanded(condition: Condition, expand: (id: BoundValue) => BoundValue[]): Condition {
  const each = (parts: readonly Condition[]) => parts.map((part) => expanded(part, expand));
  if ('all' in condition) return { all: each(condition.all) };
  if ('any' in condition) return { any: each(condition.any) };
  if ('not' in condition) return { not: expanded(condition.not, expand) };
  if (promptIdsOf(condition).length === 0) return condition;
  if ('prompt' in condition) {
    return { prompt: { ids: condition.prompt.ids.flatMap(expand), version: condition.prompt.version } };
  }
  return 'values' in condition ? { ...condition, values: condition.values.flatMap(expand) } : condition;
}
