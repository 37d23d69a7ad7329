import { Pace, type Rest, runInSlices } from '../../lib/pace.ts';
import { collectParts, type TemplatePart } from './collect-parts.ts';
import { hasDefault, isRequiredBy } from './schema/schema-paths.ts';
import type { ParsedTemplate, Parts } from './template.ts';
import type { MissingArgument, TemplateVariable } from './template-variable.ts';
import { addVariable, newWalk, type Walk, walkTemplates } from './walk-templates.ts';

export interface TemplateAnalysis {
  variables: TemplateVariable[];
  parts: TemplatePart[];
  missingArguments: MissingArgument[];
}

/**
 * Lists the variables and parts of texts that are rendered together, including those inside their
 * parts. A variable is required when its value is inserted unconditionally: not within a section,
 * loop or condition, not as a condition itself, and not through liquid's `default` filter. The
 * parents of a required path (`user` of `user.name`) and what `inputSchema` requires are required
 * too. A variable with a default in `inputSchema` is not required. Parts in a cycle or beyond the
 * limits are skipped; `expandParts` reports them.
 * @throws TemplateLimitError when there are too many variables or uses of them, or too long paths
 */
export function analyzeTemplates(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema?: unknown,
): TemplateAnalysis {
  const steps = analysisSteps(templates, parts, inputSchema);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

/**
 * Like {@link analyzeTemplates}, in slices: 2,000 long names and a schema that combines others take 100 ms. Large work
 * rests before it goes on, because a workspace may begin a dozen at a time.
 */
export async function analyzeInSlices(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema: unknown,
  rest: Rest,
): Promise<TemplateAnalysis> {
  const steps = analysisSteps(templates, parts, inputSchema);
  const first = steps.next();
  if (first.done) return first.value;
  await rest();
  return runInSlices(steps, new Pace(rest));
}

/** Steps that a variable counts as when it is compared with the schema. */
const stepsOfComparison = 2;

/**
 * Yields when other work should have its turn. Small work ends before.
 * @throws TemplateLimitError
 */
function* analysisSteps(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema: unknown,
): Generator<undefined, TemplateAnalysis> {
  const walk = newWalk(parts);
  yield* walkTemplates(walk, templates);
  const variables = [...walk.variables.values()];
  // Many variables have the same objects around them.
  const filledPaths = new Map<string, boolean>();
  const isFilled = (path: string) => {
    const known = filledPaths.get(path) ?? hasDefault(inputSchema, path.split('.'));
    filledPaths.set(path, known);
    return known;
  };
  const leading = new Set<string>();
  for (const { path, required } of variables) {
    const around = required ? pathsTo(path) : [];
    for (const each of around) leading.add(each);
    if (walk.isDue(around.length)) yield;
  }
  for (const each of variables) {
    const path = each.path.split('.');
    const inserted = each.required || leading.has(each.path);
    const filled = isFilled(each.path);
    each.required = (inserted || isRequiredBy(inputSchema, path)) && !filled;
    if (inserted && filled) requireAround(walk, each, isFilled);
    if (walk.isDue(stepsOfComparison)) yield;
  }
  const uses = templates.flatMap((template) => template.parts);
  return {
    variables: [...walk.variables.values()],
    parts: collectParts(uses),
    missingArguments: walk.missingArguments,
  };
}

/**
 * Marks the objects around a variable as required. A default inside an object fills nothing when
 * the object itself is absent.
 * @throws TemplateLimitError
 */
function requireAround(walk: Walk, filled: TemplateVariable, isFilled: (path: string) => boolean): void {
  for (const path of pathsTo(filled.path)) {
    if (isFilled(path)) return;
    const known = walk.variables.get(path) ?? addVariable(walk, path, filled.occurrences);
    known.required = true;
  }
}

/** Returns the parents of a path: `a` and `a.b` for `a.b.c`. */
function pathsTo(path: string): string[] {
  const paths: string[] = [];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) paths.push(path.slice(0, dot));
  return paths;
}
