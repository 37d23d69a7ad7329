import { Pace, type Rest, runInSlices } from '../../lib/pace.ts';
import { collectParts, type TemplatePart } from './collect-parts.ts';
import { templateLimits } from './limits.ts';
import type { PartArgument } from './part-argument.ts';
import { type Position, TemplateLimitError } from './problems.ts';
import { hasDefault, isRequiredBy } from './schema/schema-paths.ts';
import { enterSections, outermostSection, type Section } from './section.ts';
import type { ParsedTemplate, Parts, PartUse, VariableUse } from './template.ts';

/**
 * One position where a variable is used. For a use inside a part, the position is that of the part's
 * tag and `message` names the part.
 */
export interface Occurrence extends Position {
  message?: string;
  /** Index of the text that contains it, from 0. */
  text: number;
  /** The section or loop around the position. A name used inside it may be one of its fields. */
  within: Section;
}

export interface TemplateVariable {
  /** The top-level variable: `user` for `user.name`. */
  name: string;
  path: string;
  /** True when a render with `on_missing: error` fails because only this variable is absent. */
  required: boolean;
  occurrences: Occurrence[];
}

/**
 * A variable that a part needs but cannot see: the part only sees its arguments, and this tag does
 * not pass that one.
 */
export interface MissingArgument extends Position {
  text: number;
  ref: string;
  name: string;
}

export interface TemplateAnalysis {
  variables: TemplateVariable[];
  parts: TemplatePart[];
  missingArguments: MissingArgument[];
}

/** Names inside a part, mapped to the variable that they represent; null for a literal. */
type Bindings = ReadonlyMap<string, string | null>;

interface WalkPosition {
  bindings: Bindings;
  /** The part only sees its arguments. */
  isolated: boolean;
  unconditional: boolean;
  within: Section;
  /** The tag in the outermost template. The problem or variable is reported at its position. */
  tag: PartUse | undefined;
  ref: string;
  /** Templates from the outermost one to this one. */
  path: readonly ParsedTemplate[];
}

interface Walk {
  parts: Parts;
  variables: Map<string, TemplateVariable>;
  missingArguments: MissingArgument[];
  partUses: number;
  variableUses: number;
  occurrences: number;
  text: number;
}

/**
 * Lists the variables and parts of texts that are rendered together, including those inside their
 * parts. A variable is required when its value is inserted unconditionally: not within a section,
 * loop or condition, not as a condition itself, and not through liquid's `default` filter. The
 * parents of a required path (`user` of `user.name`) and what `inputSchema` requires are required
 * too. A variable with a default in `inputSchema` is not required. Parts in a cycle or beyond the
 * limits are skipped; `expandParts` reports them.
 * @throws TemplateLimitError when there are too many variables or uses of them
 */
export function analyzeTemplates(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema?: unknown,
): TemplateAnalysis {
  const steps = analysisSteps(templates, parts, inputSchema);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

/** Like {@link analyzeTemplates}, in slices: 2,000 long names and a schema that combines others take 100 ms. */
export function analyzeInSlices(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema: unknown,
  rest: Rest,
): Promise<TemplateAnalysis> {
  return runInSlices(analysisSteps(templates, parts, inputSchema), new Pace(rest));
}

/** @throws TemplateLimitError */
function* analysisSteps(
  templates: readonly ParsedTemplate[],
  parts: Parts,
  inputSchema: unknown,
): Generator<undefined, TemplateAnalysis> {
  const counts = { partUses: 0, variableUses: 0, occurrences: 0, text: 0 };
  const walk: Walk = { parts, variables: new Map(), missingArguments: [], ...counts };
  const within = outermostSection();
  for (const [text, template] of templates.entries()) {
    walk.text = text;
    yield;
    visit(walk, template, { ...outermost, within, path: [template] });
  }
  const variables = [...walk.variables.values()];
  // Many variables have the same objects around them.
  const filledPaths = new Map<string, boolean>();
  const isFilled = (path: string) => {
    const known = filledPaths.get(path) ?? hasDefault(inputSchema, path.split('.'));
    filledPaths.set(path, known);
    return known;
  };
  const leading = new Set(variables.filter(({ required }) => required).flatMap(({ path }) => pathsTo(path)));
  for (const each of variables) {
    yield;
    const path = each.path.split('.');
    const inserted = each.required || leading.has(each.path);
    const filled = isFilled(each.path);
    each.required = (inserted || isRequiredBy(inputSchema, path)) && !filled;
    if (inserted && filled) requireAround(walk.variables, each, isFilled);
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
 */
function requireAround(
  variables: Map<string, TemplateVariable>,
  filled: TemplateVariable,
  isFilled: (path: string) => boolean,
): void {
  for (const path of pathsTo(filled.path)) {
    if (isFilled(path)) return;
    const known = variables.get(path) ?? { ...filled, path };
    known.required = true;
    variables.set(path, known);
  }
}

const outermost = {
  bindings: new Map(),
  isolated: false,
  unconditional: true,
  tag: undefined,
  ref: '',
} as const;

/** Returns the parents of a path: `a` and `a.b` for `a.b.c`. */
function pathsTo(path: string): string[] {
  const paths: string[] = [];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) paths.push(path.slice(0, dot));
  return paths;
}

function visit(walk: Walk, template: ParsedTemplate, position: WalkPosition): void {
  for (const use of template.variables) noteVariable(walk, use, position);
  for (const use of template.parts) {
    const part = walk.parts.get(use.ref);
    if (part === undefined || position.path.includes(part)) continue;
    if (++walk.partUses > templateLimits.partUsesMax || position.path.length > templateLimits.partDepthMax) return;
    const isolated = template.format === 'liquid' || part.format === 'liquid';
    const outer: Bindings = isolated ? new Map() : position.bindings;
    visit(walk, part, {
      bindings: new Map([...outer, ...use.arguments.map((each) => bind(each, position))]),
      isolated: isolated || position.isolated,
      unconditional: position.unconditional && use.unconditional,
      within: enterSections(position.within, use.within),
      tag: position.tag ?? use,
      ref: use.ref,
      path: [...position.path, part],
    });
  }
}

function noteVariable(walk: Walk, use: VariableUse, position: WalkPosition): void {
  // The same bound as for the steps of a render.
  if (++walk.variableUses > templateLimits.stepsMax) {
    throw new TemplateLimitError(
      `The prompt and its parts may use variables at most ${templateLimits.stepsMax} times; they have more uses`,
      'steps',
    );
  }
  const path = translate(use.path, position);
  if (path === null) return;
  const unconditional = use.unconditional && position.unconditional;
  const { line, column, length } = position.tag ?? use;
  if (path === undefined) {
    if (unconditional && walk.missingArguments.length < occurrencesMax) {
      walk.missingArguments.push({ ref: position.ref, name: use.path, text: walk.text, line, column, length });
    }
    return;
  }
  const message = position.tag === undefined ? {} : { message: `in the part \`${position.ref}\`` };
  const known = walk.variables.get(path);
  const variable = known ?? { name: path.split('.', 1)[0] ?? path, path, required: false, occurrences: [] };
  if (known === undefined && walk.variables.size >= templateLimits.variablesMax) {
    const max = templateLimits.variablesMax;
    throw new TemplateLimitError(`The prompt and its parts may have at most ${max} different variables`, 'variables');
  }
  if (known === undefined) walk.variables.set(path, variable);
  variable.required ||= unconditional;
  if (variable.occurrences.length >= occurrencesOfOneMax || ++walk.occurrences > occurrencesMax) return;
  const within = enterSections(position.within, use.within);
  variable.occurrences.push({ text: walk.text, line, column, length, within, ...message });
}

/** Places listed of one variable. Further places still decide whether the variable is required. */
const occurrencesOfOneMax = 100;
/** Places listed of all variables together, and missing arguments listed. */
const occurrencesMax = 5_000;

/**
 * Translates a name inside a part to the name in the outermost template. Returns null for a literal
 * and undefined for a variable the part cannot see.
 */
function translate(path: string, { bindings, isolated }: WalkPosition): string | null | undefined {
  const [first = '', ...rest] = path.split('.');
  const bound = bindings.get(first);
  if (bound === undefined) return isolated ? undefined : path;
  return bound === null ? null : [bound, ...rest].join('.');
}

function bind(argument: PartArgument, position: WalkPosition): [string, string | null] {
  if (!('path' in argument) || argument.path === '.') return [argument.name, null];
  return [argument.name, translate(argument.path, position) ?? null];
}
