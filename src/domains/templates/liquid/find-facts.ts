import {
  AssignTag,
  CaptureTag,
  EchoTag,
  ForTag,
  LiquidTag,
  Output,
  TablerowTag,
  type Template,
  TypeGuards,
  toValueSync,
  type Value,
} from 'liquidjs';
import { templateLimits } from '../limits.ts';
import { indexLines } from '../line-index.ts';
import type { PartArgument } from '../part-argument.ts';
import { requireShortName } from '../require-short-path.ts';
import type { PartUse, TemplateFacts, VariableUse } from '../template.ts';
import { type IsGlobal, readAccess, visitAccesses } from './accesses.ts';
import { tagAround } from './liquid-problems.ts';
import { PartTag } from './part-tag.ts';

/**
 * Finds the variables and parts of a parsed template whose part tags know the paths of their arguments. Names defined
 * by `assign`, `for` and similar tags are not variables.
 * @throws TemplateLimitError for a name that is too long
 */
export function findFacts(templates: readonly Template[], source: string, isGlobal: IsGlobal): TemplateFacts {
  const position = indexLines(source);
  const variables: VariableUse[] = [];
  const parts: PartUse[] = [];
  walk(templates, true, [], (template, unconditional, within) => {
    const { begin, end } = template.token;
    const place = { ...position(...tagAround(source, begin, end)), within };
    const inserts = unconditional && insertsValues(template);
    visitAccesses(template, (access) => {
      requireShortName(access.getText(), access.props.length);
      const { segments } = readAccess(access);
      if (segments.length === 0 || !isGlobal(access)) return;
      variables.push({ path: segments.join('.'), ...place, unconditional: inserts });
    });
    if (template instanceof PartTag) {
      const { slug, ref } = template;
      parts.push({ slug, ref, arguments: argumentsOf(template), ...place, unconditional });
    }
  });
  return { variables, parts };
}

type Visit = (template: Template, unconditional: boolean, within: readonly string[]) => void;

/**
 * Calls `visit` for every output and tag, outer ones first. The recursion is bounded by the stack
 * of the worker thread: an overflow ends the task, not the process.
 */
export function walk(
  templates: readonly Template[],
  unconditional: boolean,
  within: readonly string[],
  visit: Visit,
): void {
  for (const template of templates) {
    visit(template, unconditional, within);
    const inner = template.children === undefined ? [] : toValueSync(template.children(false, true));
    const stays = template instanceof CaptureTag || template instanceof LiquidTag;
    const isLoop = template instanceof ForTag || template instanceof TablerowTag;
    // A longer one is no name.
    const loop = isLoop ? [template.collection.getText().slice(0, templateLimits.nameCharactersMax)] : [];
    if (inner.length > 0) walk(inner, unconditional && stays, [...within, ...loop], visit);
  }
}

/**
 * Returns whether the values of the tag's variables are inserted into the text. Conditions, lists and
 * values with the filter `default` are not.
 */
function insertsValues(template: Template): boolean {
  const value = expressionOf(template);
  if (value !== undefined) return !hasDefault(value);
  return template instanceof PartTag || template instanceof AssignTag;
}

/** Returns the expression of `{{ … }}`, `echo` or `assign`. */
export function expressionOf(template: Template): Value | undefined {
  if (template instanceof Output) return template.value;
  if (!(template instanceof EchoTag || template instanceof AssignTag)) return undefined;
  const [value] = template.arguments();
  return value !== undefined && 'filters' in value && 'initial' in value && !TypeGuards.isValueToken(value)
    ? value
    : undefined;
}

/** Returns whether an expression uses the filter `default`. */
export function hasDefault(value: Value): boolean {
  return value.filters.some(({ name }) => name === 'default');
}

function argumentsOf(tag: PartTag): PartArgument[] {
  return Object.entries(tag.hash.hash).map(([name, token]) => {
    requireShortName(name, 1);
    const path = tag.paths.get(name);
    if (typeof path === 'string') return { name, path };
    const literal = token !== undefined && (TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token));
    return { name, value: literal ? token.content : (token?.getText() ?? true) };
  });
}
