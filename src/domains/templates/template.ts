import type { Node } from './mustache/nodes.ts';
import type { PartArgument } from './part-argument.ts';
import type { Position } from './problems.ts';

export const templateFormats = ['mustache', 'liquid', 'plain'] as const;
export type TemplateFormat = (typeof templateFormats)[number];

/** One place where a template uses a variable. */
export interface VariableUse extends Position {
  /** The path as written, such as `user.name`. */
  path: string;
  /**
   * The value is inserted whatever the other variables are: the use is neither a condition nor
   * within one.
   */
  unconditional: boolean;
  /** Sections and loops around the use, outermost first. */
  within: readonly string[];
}

/** One part tag. */
export interface PartUse extends Position {
  slug: string;
  /**
   * The reference as written, including `@` and what follows. It is the key of the part in every
   * map.
   */
  ref: string;
  arguments: readonly PartArgument[];
  unconditional: boolean;
  within: readonly string[];
}

/** The variables and parts of a template, without those of its parts. */
export interface TemplateFacts {
  variables: readonly VariableUse[];
  parts: readonly PartUse[];
}

interface Parsed extends TemplateFacts {
  source: string;
}
export type MustacheTemplate = Parsed & { format: 'mustache'; nodes: readonly Node[] };
/** LiquidJS's own tree stays in the worker thread. */
export type LiquidTemplate = Parsed & { format: 'liquid' };
export type PlainTemplate = Parsed & { format: 'plain' };
/** A template that parses. Immutable: it is parsed once and rendered often. */
export type ParsedTemplate = MustacheTemplate | LiquidTemplate | PlainTemplate;

/**
 * The parts that a template reaches, directly or not, by their references as written; see
 * `expandParts`.
 */
export type Parts = ReadonlyMap<string, ParsedTemplate>;

/** What to do with a variable that is absent or null. */
export type OnMissing = 'error' | 'empty' | 'keep';

export interface RenderOptions {
  variables: Readonly<Record<string, unknown>>;
  parts: Parts;
  onMissing: OnMissing;
}

/**
 * A rendered text. `used` has top-level variables. `missing` has full paths, including those in
 * conditional places.
 */
export interface Rendered {
  text: string;
  used: string[];
  missing: string[];
}
