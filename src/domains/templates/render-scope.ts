import type { Budget } from './budget.ts';
import { templateLimits } from './limits.ts';
import type { Given } from './look-up.ts';
import { TemplateLimitError } from './problems.ts';
import type { OnMissing, ParsedTemplate, Parts } from './template.ts';

/** How a part stands in what includes it. */
export interface PartPlace {
  partDepth: number;
  /** Not within a section, nor are the parts around it. */
  unconditional: boolean;
}

/** What one render shares between its messages and parts. */
export interface RenderScope {
  parts: Parts;
  onMissing: OnMissing;
  budget: Budget;
  used: Set<string>;
  /** Path of what is missing -> whether it is needed whatever the others are. */
  missing: Map<string, boolean>;
  /** Renders a part that sees its arguments and nothing else, and takes its text from the budget. */
  renderIsolated: (part: ParsedTemplate, given: Given, place: PartPlace) => string;
}

/** Needed in one place is needed. */
export function recordMissing({ missing }: RenderScope, name: string, needed: boolean): void {
  missing.set(name, needed || missing.get(name) === true);
}

/** One level of parts further down. Throws TemplateLimitError. */
export function deeper(partDepth: number, ref: string): number {
  if (partDepth < templateLimits.partDepthMax) return partDepth + 1;
  throw new TemplateLimitError(
    `Parts nest to ${templateLimits.partDepthMax} levels at most; ${ref} is deeper`,
    'parts',
  );
}
