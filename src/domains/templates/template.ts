import type { Node } from './mustache/nodes.ts';
import type { PartArgument } from './part-argument.ts';
import type { Position } from './problems.ts';

export const templateFormats = ['mustache', 'liquid', 'plain'] as const;
export type TemplateFormat = (typeof templateFormats)[number];

/** One place where a template uses a variable. */
export interface VariableUse extends Position {
  /** As written, `user.name`. */
  path: string;
  /** Its value is inserted whatever the other variables are: not a condition and not within one. */
  unconditional: boolean;
  /** Sections and loops around it, outermost first. */
  within: readonly string[];
}

/** One part tag. */
export interface PartUse extends Position {
  slug: string;
  /** As written, with `@` and what follows; the key of the part in every map. */
  ref: string;
  arguments: readonly PartArgument[];
  unconditional: boolean;
  within: readonly string[];
}

/** What every format knows of a template without its parts. */
export interface TemplateFacts {
  variables: readonly VariableUse[];
  parts: readonly PartUse[];
}

interface Parsed extends TemplateFacts {
  source: string;
}
export type MustacheTemplate = Parsed & { format: 'mustache'; nodes: readonly Node[] };
/** LiquidJS's own tree stays in its thread. */
export type LiquidTemplate = Parsed & { format: 'liquid' };
export type PlainTemplate = Parsed & { format: 'plain' };
/** A template that parses. Immutable; parse once, render often. */
export type ParsedTemplate = MustacheTemplate | LiquidTemplate | PlainTemplate;

/** The parts a template reaches, directly or not, by their references as written (see `expandParts`). */
export type Parts = ReadonlyMap<string, ParsedTemplate>;

/** What to do with a variable that is absent or null. */
export type OnMissing = 'error' | 'empty' | 'keep';

export interface RenderOptions {
  variables: Readonly<Record<string, unknown>>;
  parts: Parts;
  onMissing: OnMissing;
}

/** A rendered text; `used` names top-level variables, `missing` full paths, those of conditional places among them. */
export interface Rendered {
  text: string;
  used: string[];
  missing: string[];
}
