import { MalformedError } from '../../../lib/errors.ts';
import type { PromptMentions } from '../../prompt-links/index.ts';
import { promptIdsIn, promptIdsOf } from './bound-cost.ts';
import type { Condition } from './condition.ts';
import { operatorTests } from './field-types.ts';
import type { BoundValue } from './operators.ts';

/**
 * Names and texts of all conditions on prompts together, counted as often as they are compared. A prompt has up to
 * 1,003, and ClickHouse takes 20 ms for a condition with so many.
 */
const textsMax = 20_000;

/**
 * Adds to every prompt in the condition, an id or slug, what stored mentions of that prompt may contain instead:
 * its names, and what was sent before the prompt was known. All conditions on a prompt share one list
 * of these texts. Calls `mentionsOf` once for all ids, and not at all without ids.
 * @throws MalformedError `invalid_filter` for more than 20,000 names and texts in all conditions
 * @throws what `mentionsOf` throws
 */
export async function expandPrompts(
  condition: Condition,
  mentionsOf: (prompts: readonly string[]) => Promise<readonly PromptMentions[]>,
): Promise<Condition> {
  const ids = promptIdsIn(condition);
  if (ids.length === 0) return condition;
  const asked = [...new Set(ids)];
  const mentions = await mentionsOf(asked);
  const texts = new Map(
    mentions.map(({ id, names, keys }, index) => [asked[index], [...new Set([id, ...names, ...keys])]]),
  );
  const compared = ids.reduce((sum, id) => sum + (texts.get(id)?.length ?? 1), 0);
  if (compared > textsMax) throw tooMany(compared);
  return expanded(condition, (id) => texts.get(String(id)) ?? [id]);
}

function expanded(condition: Condition, textsOf: (id: BoundValue) => readonly BoundValue[]): Condition {
  const each = (parts: readonly Condition[]) => parts.map((part) => expanded(part, textsOf));
  if ('all' in condition) return { all: each(condition.all) };
  if ('any' in condition) return { any: each(condition.any) };
  if ('not' in condition) return { not: expanded(condition.not, textsOf) };
  const ids = promptIdsOf(condition);
  if (ids.length === 0) return condition;
  const prompt = { ...('prompt' in condition && condition.prompt), mentions: ids.map(textsOf) };
  return 'op' in condition && operatorTests[condition.op].negated ? { not: { prompt } } : { prompt };
}

function tooMany(compared: number): MalformedError {
  const message =
    `compares with ${compared} names and texts of prompts, counted for each condition. At most ${textsMax} are allowed: ` +
    'name a prompt with many versions in fewer conditions';
  return new MalformedError('invalid_filter', `filter ${message}`, {
    errors: [{ path: 'filter', code: 'invalid_filter', message }],
  });
}
