import { closest } from '../../lib/closest.ts';
import { analyseTemplate, type Occurrence, type TemplateVariable } from './analyse-template.ts';
import type { ExpandedParts } from './expand-parts.ts';
import { indexLines } from './line-index.ts';
import { contextWindowOf } from './lint/context-window.ts';
import { findSecrets } from './lint/secrets.ts';
import { contentPath, type ParsedMessage } from './parse-messages.ts';
import type { TemplateProblem } from './problems.ts';
import { isObject, schemaAt } from './schema/schema-paths.ts';
import type { ParsedTemplate } from './template.ts';

/** Something to tell the author: `error` would fail when saved or rendered, `warning` would not. */
export interface Lint extends TemplateProblem {
  severity: 'error' | 'warning';
}

export interface LintInput {
  prompt: { template: ParsedTemplate } | { messages: readonly ParsedMessage[] };
  expanded: ExpandedParts;
  /** For suggestions. */
  knownParts: readonly string[];
  inputSchema?: unknown;
  /** Names of the template's own model and of what the text comes to. */
  model?: string;
  provider?: string;
  tokens?: number;
}

/** One text of a prompt, by its field. */
interface Text {
  path: string;
  role: string;
  template: ParsedTemplate;
  variables: TemplateVariable[];
}

/** All lints of a prompt whose templates parse. */
export function lintTemplate(input: LintInput): Lint[] {
  const { expanded, inputSchema } = input;
  const texts = textsOf(input.prompt).map((text) => {
    const { variables, missingArguments } = analyseTemplate(text.template, expanded.parts, inputSchema);
    return { ...text, variables, missingArguments };
  });
  return [
    ...lintParts(input),
    ...texts.flatMap(({ path, missingArguments }) =>
      missingArguments.map(({ ref, name, ...position }) => {
        const message = `The part \`${ref}\` needs the argument \`${name}\`; it only sees its arguments`;
        return warning(path, 'missing_argument', message, position);
      }),
    ),
    ...(isObject(inputSchema) ? [...lintUndeclared(texts, inputSchema), ...lintUnused(texts, inputSchema)] : []),
    ...texts.flatMap(lintSecrets),
    ...texts.flatMap(lintSystemVariables),
    ...lintContextWindow(input, texts),
  ];
}

function textsOf(prompt: LintInput['prompt']): Omit<Text, 'variables'>[] {
  if ('template' in prompt) return [{ path: 'template', role: '', template: prompt.template }];
  return prompt.messages.flatMap((message, index) =>
    'content' in message ? [{ path: contentPath(index), role: message.role, template: message.content }] : [],
  );
}

function lintParts({ expanded, knownParts, prompt }: LintInput): Lint[] {
  const unknown = new Map(expanded.states.filter(({ status }) => status === 'unknown').map((each) => [each.ref, each]));
  return expanded.problems.map((problem): Lint => {
    const ref = problem.code === 'unknown_part' ? /`([^`]+)`/.exec(problem.message)?.[1] : undefined;
    const suggestion = ref === undefined ? undefined : closest(unknown.get(ref)?.slug ?? ref, knownParts);
    const path = textsOf(prompt).find(({ template }) => template.parts.some((use) => isAt(use, problem)))?.path;
    return { ...problem, path: path ?? problem.path, severity: 'error', ...(suggestion ? { suggestion } : {}) };
  });
}

const isAt = (a: { line: number; column: number }, b: { line: number; column: number }) =>
  a.line === b.line && a.column === b.column;

/** What is used within a section may be a field of it, or of its items, as well as a variable. */
function lintUndeclared(texts: readonly Text[], schema: Record<string, unknown>): Lint[] {
  const declared = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  return texts.flatMap(({ path: field, variables }) =>
    variables.flatMap(({ name, path, occurrences }) => {
      const undeclared = occurrences.find((place) => !isDeclared(schema, path.split('.'), place));
      if (undeclared === undefined) return [];
      const suggestion = closest(name, declared);
      const message = `\`${path}\` is not in the input schema`;
      return [{ ...warning(field, 'undeclared_variable', message, undeclared), ...(suggestion ? { suggestion } : {}) }];
    }),
  );
}

function isDeclared(schema: unknown, path: readonly string[], { within }: Occurrence): boolean {
  if (schemaAt(schema, path) !== undefined) return true;
  const scopes: unknown[] = [schema];
  for (const section of within) {
    const found = scopes.map((scope) => schemaAt(scope, section.split('.'))).find((each) => each !== undefined);
    if (found === undefined || found === null) return true;
    scopes.unshift(isObject(found) && isObject(found.items) ? found.items : found);
  }
  return scopes.some((scope) => schemaAt(scope, path) !== undefined);
}

function lintUnused(texts: readonly Text[], { properties }: Record<string, unknown>): Lint[] {
  const used = new Set(texts.flatMap(({ variables }) => variables.map(({ name }) => name)));
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
    const message = `This looks like ${what}; a prompt is no place for secrets`;
    return warning(path, 'secret_literal', message, position(begin, end));
  });
}

function lintSystemVariables({ path, role, variables }: Text): Lint[] {
  if (role !== 'system' && role !== 'developer') return [];
  return variables.flatMap(({ path: name, occurrences }) => {
    const [first] = occurrences;
    const message = `\`${name}\` goes into a ${role} message; whoever sets it can give the model instructions`;
    return first ? [warning(path, 'variable_in_system_message', message, first)] : [];
  });
}

function lintContextWindow({ model, provider, tokens }: LintInput, [first]: readonly Text[]): Lint[] {
  const window = model === undefined || tokens === undefined ? undefined : contextWindowOf(model, provider);
  if (window === undefined || tokens === undefined || tokens <= window) return [];
  const message = `The prompt has ${tokens} tokens; ${model} takes ${window}`;
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
