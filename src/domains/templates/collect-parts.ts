import type { Position } from './problems.ts';
import type { PartUse } from './template.ts';

/** A part that texts use, with all tags that use it. */
export interface TemplatePart {
  slug: string;
  ref: string;
  /** Names of the arguments that any of the tags gives. */
  arguments: string[];
  positions: Position[];
}

/** Lists the parts that the tags use, in order of their first tag. */
export function collectParts(uses: readonly PartUse[]): TemplatePart[] {
  const parts = new Map<string, TemplatePart & { names: Set<string> }>();
  for (const { slug, ref, arguments: given, line, column, length } of uses) {
    const part = parts.get(ref) ?? { slug, ref, arguments: [], positions: [], names: new Set() };
    parts.set(ref, part);
    part.positions.push({ line, column, length });
    for (const { name } of given) part.names.add(name);
  }
  return [...parts.values()].map(({ names, ...part }) => ({ ...part, arguments: [...names] }));
}
