import type { Budget } from './budget.ts';
import { templateLimits } from './limits.ts';
import type { Given } from './look-up.ts';
import { TemplateLimitError } from './problems.ts';
import type { OnMissing, ParsedTemplate, Parts } from './template.ts';

/** Where a part is rendered. */
export interface PartPlace {
  partDepth: number;
  /** Neither the part nor the parts around it are within a section. */
  unconditional: boolean;
}

/** State of one render that its messages and parts share. */
export interface RenderScope {
  parts: Parts;
  onMissing: OnMissing;
  budget: Budget;
  used: Set<string>;
  /** Paths of missing variables, and whether the variable is required unconditionally. */
  missing: Map<string, boolean>;
  /** Renders a part that only sees its arguments, and counts its text on the budget. */
  renderIsolated: (part: ParsedTemplate, given: Given, place: PartPlace) => string;
}

/** Records a missing variable. A variable that is needed in one place is needed. */
export function recordMissing({ missing }: RenderScope, name: string, needed: boolean): void {
  missing.set(name, needed || missing.get(name) === true);
}

/**
 * Returns the next depth of nested parts.
 * @throws TemplateLimitError when the parts nest too deeply
 */
export function deeper(partDepth: number, ref: string): number {
  if (partDepth < templateLimits.partDepthMax) return partDepth + 1;
  throw new TemplateLimitError(
    `Parts may be nested at most ${templateLimits.partDepthMax} levels deep; ${ref} is deeper`,
    'parts',
  );
}
