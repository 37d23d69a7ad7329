import {
  AssignTag,
  analyzeSync,
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
  type Variable,
} from 'liquidjs';
import { indexLines } from '../line-index.ts';
import type { PartArgument } from '../part-argument.ts';
import type { PartUse, TemplateFacts, VariableUse } from '../template.ts';
import { tagAround } from './liquid-problems.ts';
import { PartTag } from './part-tag.ts';

/**
 * Finds the variables and parts of a parsed template with LiquidJS's static analysis. Names defined
 * by `assign`, `for` and similar tags are not variables.
 */
export function findFacts(templates: Template[], source: string): TemplateFacts {
  const globals = new Set(
    Object.values(analyzeSync(templates, { partials: false }).globals).flatMap((each) => each.map(placeKey)),
  );
  const position = indexLines(source);
  const variables: VariableUse[] = [];
  const parts: PartUse[] = [];
  walk(templates, true, [], (template, unconditional, within) => {
    const { begin, end } = template.token;
    const place = { ...position(...tagAround(source, begin, end)), within };
    const inserts = unconditional && insertsValues(template);
    for (const variable of variablesOf(template)) {
      if (globals.has(placeKey(variable))) variables.push({ path: pathOf(variable), ...place, unconditional: inserts });
    }
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
    const loop = template instanceof ForTag || template instanceof TablerowTag ? [template.collection.getText()] : [];
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
  const paths = tag.paths();
  return Object.entries(tag.hash.hash).map(([name, token]) => {
    const path = paths.get(name);
    if (path !== undefined) return { name, path };
    const literal = token !== undefined && (TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token));
    return { name, value: literal ? token.content : (token?.getText() ?? true) };
  });
}

function variablesOf(template: Template): Variable[] {
  if (template.arguments === undefined) return [];
  const { token } = template;
  const alone: Template = { token, render: () => '', arguments: () => template.arguments?.() ?? [] };
  return Object.values(analyzeSync([alone], { partials: false }).variables).flat();
}

const placeKey = ({ location }: Variable) => `${location.row}:${location.col}`;

/** Returns the static beginning of a path: `a` for `a[b].c`. */
function pathOf({ segments }: Variable): string {
  const dynamic = segments.findIndex((segment) => typeof segment === 'object');
  return segments.slice(0, dynamic === -1 ? undefined : dynamic).join('.');
}
