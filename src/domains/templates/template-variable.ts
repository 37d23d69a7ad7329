import type { Position } from './problems.ts';
import type { Section } from './section.ts';

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
