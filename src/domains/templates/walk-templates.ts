import { templateLimits } from './limits.ts';
import type { PartArgument } from './part-argument.ts';
import { TemplateLimitError } from './problems.ts';
import { requireShortPath } from './require-short-path.ts';
import { enterSections, outermostSection, type Section } from './section.ts';
import type { ParsedTemplate, Parts, PartUse, VariableUse } from './template.ts';
import type { MissingArgument, Occurrence, TemplateVariable } from './template-variable.ts';

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

/** What is found in texts and their parts. */
export interface Walk {
  parts: Parts;
  variables: Map<string, TemplateVariable>;
  missingArguments: MissingArgument[];
  partUses: number;
  variableUses: number;
  occurrences: number;
  text: number;
  /** Counts steps of some microseconds each, and tells when other work should have its turn. */
  isDue: (steps?: number) => boolean;
}

/** Steps between two turns of other work. They take about a millisecond. */
const stepsPerTurn = 200;

/** Begins a walk that uses such parts. */
export function newWalk(parts: Parts): Walk {
  let steps = 0;
  const isDue = (count = 1) => {
    steps += count;
    if (steps < stepsPerTurn) return false;
    steps = 0;
    return true;
  };
  const counts = { partUses: 0, variableUses: 0, occurrences: 0, text: 0 };
  return { parts, variables: new Map(), missingArguments: [], ...counts, isDue };
}

const outermost = {
  bindings: new Map(),
  isolated: false,
  unconditional: true,
  tag: undefined,
  ref: '',
} as const;

/**
 * Finds the variables of the texts and of their parts, and the arguments that parts lack. Yields when other work should
 * have its turn: parts within parts can use variables 50,000 times.
 * @throws TemplateLimitError
 */
export function* walkTemplates(walk: Walk, templates: readonly ParsedTemplate[]): Generator<undefined, void> {
  const within = outermostSection();
  for (const [text, template] of templates.entries()) {
    walk.text = text;
    yield* visit(walk, template, { ...outermost, within, path: [template] });
  }
}

function* visit(walk: Walk, template: ParsedTemplate, position: WalkPosition): Generator<undefined, void> {
  for (const use of template.variables) {
    noteVariable(walk, use, position);
    if (walk.isDue()) yield;
  }
  for (const use of template.parts) {
    const part = walk.parts.get(use.ref);
    if (part === undefined || position.path.includes(part)) continue;
    if (++walk.partUses > templateLimits.partUsesMax || position.path.length > templateLimits.partDepthMax) return;
    const isolated = template.format === 'liquid' || part.format === 'liquid';
    const outer: Bindings = isolated ? new Map() : position.bindings;
    const bindings = new Map([...outer, ...use.arguments.map((each) => bind(each, position))]);
    if (walk.isDue(1 + use.arguments.length)) yield;
    yield* visit(walk, part, {
      bindings,
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
  const variable = walk.variables.get(path) ?? addVariable(walk, path);
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
 * Adds a variable that was not known.
 * @throws TemplateLimitError
 */
export function addVariable(walk: Walk, path: string, places: readonly Occurrence[] = []): TemplateVariable {
  const { variablesMax } = templateLimits;
  if (walk.variables.size >= variablesMax) {
    throw new TemplateLimitError(
      `The prompt and its parts may have at most ${variablesMax} different variables`,
      'variables',
    );
  }
  const occurrences = places.slice(0, Math.max(0, occurrencesMax - walk.occurrences));
  walk.occurrences += occurrences.length;
  const variable = { name: path.split('.', 1)[0] ?? path, path, required: false, occurrences };
  walk.variables.set(path, variable);
  return variable;
}

/**
 * Translates a name inside a part to the name in the outermost template. Returns null for a literal
 * and undefined for a variable the part cannot see.
 * @throws TemplateLimitError
 */
function translate(path: string, { bindings, isolated }: WalkPosition): string | null | undefined {
  const [first = '', ...rest] = path.split('.');
  const bound = bindings.get(first);
  if (bound === undefined) return isolated ? undefined : path;
  if (bound === null) return null;
  const translated = [bound, ...rest].join('.');
  requireShortPath(translated);
  return translated;
}

function bind(argument: PartArgument, position: WalkPosition): [string, string | null] {
  if (!('path' in argument) || argument.path === '.') return [argument.name, null];
  return [argument.name, translate(argument.path, position) ?? null];
}
