import { type Fault, InvalidError } from '../../lib/errors.ts';

/** 1-based; columns and lengths in UTF-16 units; at the opening tag. */
export interface Position {
  line: number;
  column: number;
  length: number;
}

/** Something wrong in a template, with where. `path` is the field of the prompt, `template` or `messages[2].content`. */
export interface TemplateProblem extends Fault, Position {
  suggestion?: string;
}

/** A template that does not parse; `problems` has everything found. */
export class InvalidTemplateError extends InvalidError {
  readonly problems: readonly TemplateProblem[];

  constructor(problems: readonly TemplateProblem[]) {
    const [first] = problems;
    const where = first === undefined ? '' : `: line ${first.line}, column ${first.column}: ${first.message}`;
    super('invalid_template', `The template has ${countOf(problems.length, 'problem')}${where}`, { errors: problems });
    this.problems = problems;
  }
}

/** What a template can have too much of, or use up. */
export type TemplateBudget =
  | 'source'
  | 'messages'
  | 'nodes'
  | 'nesting'
  | 'parts'
  | 'steps'
  | 'output'
  | 'time'
  | 'memory';

/** The template, or rendering it, goes over a limit of `limits.ts`; `budget` says over which kind, the message over how much. */
export class TemplateLimitError extends InvalidError {
  readonly budget: TemplateBudget;

  constructor(message: string, budget: TemplateBudget, errors?: readonly Fault[]) {
    super('template_limit', message, { extra: { budget }, ...(errors && { errors }) });
    this.budget = budget;
  }
}

/** Variables and placeholders without which the template says less than it should. */
export class MissingVariablesError extends InvalidError {
  /** Placeholders as `placeholders.name`. */
  readonly missing: readonly string[];

  constructor(variables: readonly string[], placeholders: readonly string[] = []) {
    const missing = [...variables, ...placeholders.map((name) => `placeholders.${name}`)];
    super('missing_variables', `${countOf(missing.length, 'variable')} missing: ${missing.slice(0, 20).join(', ')}`, {
      errors: [
        ...variables.map((name) => ({
          path: `variables.${name}`,
          code: 'missing_variable',
          message: `The template needs \`${name}\`; it is absent or null`,
        })),
        ...placeholders.map((name) => ({
          path: `placeholders.${name}`,
          code: 'missing_variable',
          message: `The chat needs messages for the placeholder \`${name}\`, be it an empty list`,
        })),
      ],
      extra: { missing },
    });
    this.missing = missing;
  }
}

export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
