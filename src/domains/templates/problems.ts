import { type Fault, InvalidError } from '../../lib/errors.ts';

/**
 * Position of an opening tag. Lines and columns start at 1; columns and lengths are in UTF-16
 * units.
 */
export interface Position {
  line: number;
  column: number;
  length: number;
}

/**
 * A problem of a template and its position. `path` is the field of the prompt: `template` or
 * `messages[2].content`.
 */
export interface TemplateProblem extends Fault, Position {
  suggestion?: string;
}

/** A template does not parse. `problems` has all problems found. */
export class InvalidTemplateError extends InvalidError {
  readonly problems: readonly TemplateProblem[];

  constructor(problems: readonly TemplateProblem[]) {
    const [first] = problems;
    const where = first === undefined ? '' : `: line ${first.line}, column ${first.column}: ${first.message}`;
    super('invalid_template', `The template has ${countOf(problems.length, 'problem')}${where}`, { errors: problems });
    this.problems = problems;
  }
}

/** The kinds of limits that a template can exceed. */
export type TemplateBudget =
  | 'source'
  | 'messages'
  | 'nodes'
  | 'nesting'
  | 'parts'
  | 'steps'
  | 'variables'
  | 'output'
  | 'time'
  | 'memory';

/**
 * The template, or rendering it, exceeds a limit of `limits.ts`. `budget` is the kind of limit; the
 * message names the amount.
 */
export class TemplateLimitError extends InvalidError {
  readonly budget: TemplateBudget;

  constructor(message: string, budget: TemplateBudget, errors?: readonly Fault[]) {
    super('template_limit', message, { extra: { budget }, ...(errors && { errors }) });
    this.budget = budget;
  }
}

/** Faults of one response. `missing` has all names, and takes a tenth of their time and bytes. */
const missingFaultsMax = 100;
/** Characters of the names in the detail. */
const namedCharactersMax = 500;

/** Required variables or placeholders are absent or null. */
export class MissingVariablesError extends InvalidError {
  /** Paths of variables, and placeholders as `placeholders.name`. */
  readonly missing: readonly string[];

  constructor(variables: readonly string[], placeholders: readonly string[] = []) {
    const missing = [...variables, ...placeholders.map((name) => `placeholders.${name}`)];
    const faults = [...variables.slice(0, missingFaultsMax).map(missingVariable), ...placeholders.map(missingMessages)];
    const first = missing.slice(0, 20).join(', ').slice(0, namedCharactersMax);
    super('missing_variables', `${countOf(missing.length, 'variable')} missing: ${first}`, {
      errors: faults.slice(0, missingFaultsMax),
      extra: { missing },
    });
    this.missing = missing;
  }
}

const missingVariable = (name: string): Fault => ({
  path: `variables.${name}`,
  code: 'missing_variable',
  message: `The template needs \`${name}\`, which is absent or null`,
});

const missingMessages = (name: string): Fault => ({
  path: `placeholders.${name}`,
  code: 'missing_variable',
  message: `The chat needs a list of messages for the placeholder \`${name}\`. The list may be empty`,
});

/** Formats a count with its noun, such as `2 problems`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
