import { closest } from '../../lib/closest.ts';
import { itemAt } from '../../lib/item-at.ts';
import { oneTurn, Pace, type Rest, runInSlices } from '../../lib/pace.ts';
import type { TemplateAnalysis } from './analyze-templates.ts';
import type { ExpandedParts } from './expand-parts.ts';
import { templateLimits } from './limits.ts';
import { indexLines } from './line-index.ts';
import { contextWindowOf } from './lint/context-window.ts';
import { findSecrets } from './lint/secrets.ts';
import { contentPath, type ParsedMessage } from './parse-messages.ts';
import type { TemplateProblem } from './problems.ts';
import { isObject, schemaAt } from './schema/schema-paths.ts';
import type { Section } from './section.ts';
import type { ParsedTemplate } from './template.ts';

/**
 * A finding about a draft. An `error` would fail when the draft is saved or rendered, a `warning`
 * would not.
 */
export interface Lint extends TemplateProblem {
  severity: 'error' | 'warning';
}

export interface LintInput {
  prompt: { template: ParsedTemplate } | { messages: readonly ParsedMessage[] };
  expanded: ExpandedParts;
  /** Analysis of the prompt's texts. */
  analysis: TemplateAnalysis;
  /** Slugs to suggest for unknown parts. */
  knownParts: readonly string[];
  inputSchema?: unknown;
  /** Names the model and provider of the prompt; `tokens` is the token count of its text. */
  model?: string;
  provider?: string;
  tokens?: number;
}

/** One text of a prompt with the path of its field. */
interface Text {
  path: string;
  role: string;
  template: ParsedTemplate;
}

type Suggest = (word: string, candidates: readonly string[]) => { suggestion?: string };

/**
 * Returns all lints of a prompt whose templates parse. Runs in slices: 2,000 variables, and a schema that combines others,
 * take 75 ms.
 */
export function lintTemplate(input: LintInput, rest: Rest = oneTurn): Promise<Lint[]> {
  return runInSlices(lintSteps(input), new Pace(rest));
}

function* lintSteps(input: LintInput): Generator<undefined, Lint[]> {
  const { analysis, inputSchema } = input;
  const texts = textsOf(input.prompt);
  const pathOf = (text: number) => itemAt(texts, text).path;
  const suggest = suggester();
  const lints: Lint[] = [
    ...lintParts(input, pathOf, suggest),
    ...analysis.missingArguments.map(({ text, ref, name, ...position }) => {
      const message = `The part \`${ref}\` needs the argument \`${name}\`. A part has access to its arguments only`;
      return warning(pathOf(text), 'missing_argument', message, position);
    }),
  ];
  if (isObject(inputSchema)) {
    yield;
    lints.push(
      ...(yield* lintUndeclared(analysis, inputSchema, pathOf, suggest)),
      ...lintUnused(analysis, inputSchema),
    );
  }
  for (const text of texts) {
    yield;
    lints.push(...lintSecrets(text));
  }
  return [...lints, ...lintSystemVariables(analysis, texts), ...lintContextWindow(input, texts)];
}

/**
 * Returns the texts of a prompt that are templates, in the order that `analyzeTemplates` and
 * `expandParts` expect.
 */
export function textsOf(prompt: LintInput['prompt']): Text[] {
  if ('template' in prompt) return [{ path: 'template', role: '', template: prompt.template }];
  return prompt.messages.flatMap((message, index) =>
    'content' in message ? [{ path: contentPath(index), role: message.role, template: message.content }] : [],
  );
}

/**
 * Comparisons of names for suggestions. One takes about 20 µs; thousands of unknown names against
 * thousands of known names would take minutes.
 */
const comparisonsMax = 500;

function suggester(): Suggest {
  let left = comparisonsMax;
  return (word, candidates) => {
    left -= candidates.length;
    const suggestion = left < 0 ? undefined : closest(word, candidates);
    return suggestion === undefined ? {} : { suggestion };
  };
}

function lintParts({ expanded, knownParts }: LintInput, pathOf: (text: number) => string, suggest: Suggest): Lint[] {
  return expanded.problems.map(({ text, part, ...problem }): Lint => {
    const suggestion = problem.code === 'unknown_part' ? suggest(part.slug, knownParts) : {};
    return { ...problem, path: pathOf(text), severity: 'error', ...suggestion };
  });
}

/**
 * Warns about variables that the input schema does not declare. A name within a section may be a
 * field of the section's value or items, or a variable.
 */
function* lintUndeclared(
  { variables }: TemplateAnalysis,
  schema: Record<string, unknown>,
  pathOf: (text: number) => string,
  suggest: Suggest,
): Generator<undefined, Lint[]> {
  // No variable has a longer name.
  const isName = ({ length }: string) => length <= templateLimits.nameCharactersMax;
  const declared = isObject(schema.properties) ? Object.keys(schema.properties).filter(isName) : [];
  const scopesWithin = scopesOf(schema);
  const lints: Lint[] = [];
  for (const { name, path, occurrences } of variables) {
    yield;
    const segments = path.split('.');
    const undeclared = occurrences.filter(({ within }) => {
      const scopes = scopesWithin(within);
      return scopes?.every((scope) => schemaAt(scope, segments) === undefined);
    });
    const firsts = new Map(undeclared.toReversed().map((each) => [each.text, each]));
    const message = `The input schema does not contain \`${path}\``;
    for (const [text, place] of [...firsts].reverse()) {
      lints.push({ ...warning(pathOf(text), 'undeclared_variable', message, place), ...suggest(name, declared) });
    }
  }
  return lints;
}

/** Sections around a use whose schemas are followed. One template cannot have more, but parts within parts can. */
const scopesMax = templateLimits.nestingMax;

/**
 * Returns a function that finds the schemas of the values visible within a section, innermost first.
 * It returns undefined when the schema does not describe one of them, or when there are too many.
 */
function scopesOf(schema: unknown): (within: Section) => readonly unknown[] | undefined {
  const known = new Map<Section, readonly unknown[] | undefined>();
  const find = (within: Section): readonly unknown[] | undefined => {
    if (within.outer === undefined) return [schema];
    if (known.has(within)) return known.get(within);
    const outer = find(within.outer);
    const section = within.name.split('.');
    const found = outer?.map((scope) => schemaAt(scope, section)).find((each) => each !== undefined);
    const isOpen = outer === undefined || outer.length > scopesMax || found === undefined || found === null;
    const scopes = isOpen ? undefined : [isObject(found) && isObject(found.items) ? found.items : found, ...outer];
    known.set(within, scopes);
    return scopes;
  };
  return find;
}

function lintUnused({ variables }: TemplateAnalysis, { properties }: Record<string, unknown>): Lint[] {
  const used = new Set(variables.map(({ name }) => name));
  return Object.keys(isObject(properties) ? properties : {})
    .filter((name) => !used.has(name))
    .map((name) => {
      const message = `\`${name}\` is in the input schema, but no template uses it`;
      return warning(`input_schema.properties.${name}`, 'unused_variable', message, start);
    });
}

function lintSecrets({ path, template }: Text): Lint[] {
  const position = indexLines(template.source);
  return findSecrets(template.source).map(({ what, begin, end }) => {
    const message = `This text looks like ${what}. Do not put secrets into a prompt`;
    return warning(path, 'secret_literal', message, position(begin, end));
  });
}

function lintSystemVariables({ variables }: TemplateAnalysis, texts: readonly Text[]): Lint[] {
  return variables.flatMap(({ path: name, occurrences }) => {
    const firsts = new Map(occurrences.toReversed().map((each) => [each.text, each]));
    return [...firsts].reverse().flatMap(([text, place]) => {
      const { path, role } = itemAt(texts, text);
      if (role !== 'system' && role !== 'developer') return [];
      const message = `\`${name}\` is inserted into a ${role} message. A person who sets it can give instructions to the model`;
      return [warning(path, 'variable_in_system_message', message, place)];
    });
  });
}

function lintContextWindow({ model, provider, tokens }: LintInput, [first]: readonly Text[]): Lint[] {
  const window = model === undefined || tokens === undefined ? undefined : contextWindowOf(model, provider);
  if (window === undefined || tokens === undefined || tokens <= window) return [];
  const message = `The prompt has ${tokens} tokens; ${model} accepts at most ${window}`;
  return [warning(first?.path ?? 'template', 'context_window_exceeded', message, start)];
}

const start = { line: 1, column: 1, length: 0 };

function warning(
  path: string,
  code: string,
  message: string,
  { line, column, length }: { line: number; column: number; length: number },
): Lint {
  return { path, code, message, severity: 'warning', line, column, length };
}
