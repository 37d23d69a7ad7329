import { expect, test } from 'vitest';
import { guardCandidate } from '../../../src/domains/prompt-search/search/guard-candidate.ts';
import type { SearchPorts } from '../../../src/domains/prompt-search/search/ports.ts';
import { countTurns } from '../../support/count-turns.ts';

/** Returns words of one letter that look random and are the same each time. */
function letters(count: number, seed: number): string {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCharCode(97 + ((state >>> 24) % 26));
  };
  return Array.from({ length: count }, next).join(' ');
}

const text = (template: string) => ({ type: 'text', template }) as const;

test('long texts of short words are compared with rows while other work runs', async () => {
  const [base, row] = [letters(125_000, 1), letters(60_000, 2)];
  const copied = row.split(' ').slice(40_000, 40_008).join(' ');
  const analyze: SearchPorts['analyze'] = async () => ({ ok: true, variables: [], required: [], parts: [] });
  const ports = { analyze, render: () => expect.unreachable() };
  const rules = { base: text(base), names: new Map(), sample: undefined, promptTokensMax: 1_000_000 };
  const guard = (template: string) =>
    guardCandidate({ ports, rules, seen: new Set() }, { content: text(template), index: 0, shown: [base, row] });

  const accepted = await countTurns(() => guard(`${base} please`));
  expect(accepted.result).toBeUndefined();
  expect(accepted.turns).toBeGreaterThan(5);
  const refused = await countTurns(() => guard(`${base} ${copied.toUpperCase()}`));
  expect(refused.result).toBe(`It copies a row verbatim: "${copied}".`);
  expect(refused.turns).toBeGreaterThan(5);
});
