import { templateLimits } from './limits.ts';
import type { TemplateProblem } from './problems.ts';
import type { ParsedTemplate, PartUse } from './template.ts';

/** A stored part with its parsed template. */
export interface ResolvedPart {
  slug: string;
  version: number;
  template: ParsedTemplate;
}

export type ResolvePart = (slug: string, ref: string) => ResolvedPart | undefined;

/**
 * A part that a template reaches directly or through other parts, with the result of resolving it.
 */
export interface PartState {
  slug: string;
  ref: string;
  status: 'ok' | 'unknown' | 'cycle';
  version?: number;
}

/**
 * A problem with a part. For a nested part the position is that of the tag in the outermost
 * template.
 */
export interface PartProblem extends TemplateProblem {
  /** Index of the template that has the tag, from 0. */
  text: number;
  part: { slug: string; ref: string };
}

export interface ExpandedParts {
  /** Templates by reference, for `renderTemplate` and `analyzeTemplates`. */
  parts: Map<string, ParsedTemplate>;
  states: PartState[];
  /** Problems with the codes `unknown_part`, `part_cycle` and `template_limit`. */
  problems: PartProblem[];
}

interface Walk {
  resolve: ResolvePart;
  expanded: ExpandedParts;
  states: Map<string, PartState>;
  /** Part tags and depth of each part version, including everything inside it. */
  sizes: Map<string, { uses: number; depth: number }>;
  /** Parts from the outermost one to the current one. */
  path: ResolvedPart[];
  root: PartUse | undefined;
  text: number;
}

/**
 * Follows all part tags. Each version of a part is walked once, so parts that multiply
 * exponentially are counted but not written out. A cycle is a version that includes itself. `self`
 * is the draft of a part that is being saved; it is the beginning of every path.
 */
export function expandParts(
  templates: readonly ParsedTemplate[],
  resolve: ResolvePart,
  self?: ResolvedPart,
): ExpandedParts {
  const expanded: ExpandedParts = { parts: new Map(), states: [], problems: [] };
  const path = self === undefined ? [] : [self];
  const walk: Walk = { resolve, expanded, states: new Map(), sizes: new Map(), path, root: undefined, text: 0 };
  let uses = 0;
  const tags = templates.flatMap(({ parts }, text) => parts.map((use) => ({ text, use })));
  for (const { text, use } of tags) {
    walk.root = use;
    walk.text = text;
    const size = visit(walk, use);
    uses += size.uses;
    if (size.depth > templateLimits.partDepthMax) {
      complain(
        walk,
        'template_limit',
        use,
        `Parts may be nested at most ${templateLimits.partDepthMax} levels deep; \`${use.ref}\` has more levels`,
      );
    }
    if (uses > templateLimits.partUsesMax) {
      complain(
        walk,
        'template_limit',
        use,
        `The prompt and its parts may have at most ${templateLimits.partUsesMax} part tags; they have more`,
      );
      break;
    }
  }
  expanded.states.push(...walk.states.values());
  return expanded;
}

/**
 * Visits one part tag. The recursion is bounded: a path longer than the depth limit is not
 * followed.
 */
function visit(walk: Walk, use: PartUse): { uses: number; depth: number } {
  const { slug, ref } = use;
  const part = walk.resolve(slug, ref);
  if (part === undefined) {
    if (!walk.states.has(ref))
      complain(walk, 'unknown_part', use, `The part \`${ref}\`${through(walk)} does not exist`);
    walk.states.set(ref, { slug, ref, status: 'unknown' });
    return { uses: 1, depth: 1 };
  }
  const key = keyOf(part);
  const known = walk.sizes.get(key);
  if (walk.path.some((each) => keyOf(each) === key)) {
    const start = walk.path.findIndex((each) => keyOf(each) === key);
    const cycle = [...walk.path.slice(start), part].map((each) => each.slug).join(' > ');
    complain(walk, 'part_cycle', use, `Parts include each other: ${cycle}`);
    walk.states.set(ref, { slug, ref, status: 'cycle', version: part.version });
    return { uses: 1, depth: 1 };
  }
  walk.expanded.parts.set(ref, part.template);
  if (!walk.states.has(ref)) walk.states.set(ref, { slug, ref, status: 'ok', version: part.version });
  if (known !== undefined) return known;
  const size = { uses: 1, depth: 1 };
  if (walk.path.length <= templateLimits.partDepthMax) {
    walk.path.push(part);
    for (const inner of part.template.parts) {
      const { uses, depth } = visit(walk, inner);
      size.uses += uses;
      size.depth = Math.max(size.depth, depth + 1);
      // The limit is exceeded already; visiting the rest would only take time.
      if (size.uses > templateLimits.partUsesMax) break;
    }
    walk.path.pop();
  }
  walk.sizes.set(key, size);
  return size;
}

const keyOf = ({ slug, version }: ResolvedPart) => `${slug}@${version}`;

function through({ path }: Walk): string {
  return path.length === 0 ? '' : ` in \`${path.map(({ slug }) => slug).join(' > ')}\``;
}

function complain({ root, text, expanded }: Walk, code: string, part: PartUse, message: string): void {
  if (expanded.problems.length >= templateLimits.problemsMax) return;
  const { line, column, length } = root ?? { line: 1, column: 1, length: 0 };
  const { slug, ref } = part;
  expanded.problems.push({ path: 'template', code, message, line, column, length, text, part: { slug, ref } });
}
