import { InvalidError } from '../../../lib/errors.ts';
import { textOf } from '../insert-value.ts';
import { type ArgumentPaths, absent, type Frame, type Given, isMissing, lookUp } from '../look-up.ts';
import { deeper, type PartPlace, type RenderScope, recordMissing } from '../render-scope.ts';
import type { MustacheTemplate } from '../template.ts';
import type { ArgumentNode, Node, PartNode, SectionNode, TextNode, VariableNode } from './nodes.ts';

/** The current position of the render in the tree. */
interface RenderPosition {
  scope: RenderScope;
  frames: Frame[];
  /** Inserted before every line that begins here. */
  indent: string;
  partDepth: number;
  /** Not within any section. */
  unconditional: boolean;
}

/**
 * Renders a parsed template in one context.
 * @throws TemplateLimitError, InvalidError (`unknown_part`)
 */
export function renderMustache(
  { nodes }: MustacheTemplate,
  context: Frame,
  scope: RenderScope,
  { partDepth, unconditional }: PartPlace,
): string {
  return renderNodes(nodes, { scope, frames: [context], indent: '', partDepth, unconditional });
}

function renderNodes(nodes: readonly Node[], position: RenderPosition): string {
  let text = '';
  for (const node of nodes) {
    position.scope.budget.step();
    text += node.kind === 'text' ? renderText(node, position) : renderTag(node, position);
  }
  return text;
}

function renderTag(node: Exclude<Node, TextNode>, position: RenderPosition): string {
  const before = node.lineStart && position.indent !== '' ? emit(position.indent, position) : '';
  if (node.kind === 'variable') return before + renderVariable(node, position);
  return before + (node.kind === 'section' ? renderSection(node, position) : renderPart(node, position));
}

/**
 * Indents the lines of the part as written. Lines of inserted values and empty lines are not
 * indented.
 */
function renderText({ text, lineStart }: TextNode, position: RenderPosition): string {
  if (position.indent === '') return emit(text, position);
  const indented = indentLines(text, position.indent, position);
  return emit(lineStart && !/^\r?\n/.test(text) ? position.indent + indented : indented, position);
}

/**
 * Indents the lines after the first that are not empty.
 * @throws TemplateLimitError before a text is made that is too long
 */
function indentLines(text: string, indent: string, { scope: { budget } }: RenderPosition): string {
  let left = budget.outputLeft - text.length;
  return text.replace(/\n(?=[^\r\n])/g, () => {
    left -= indent.length;
    if (left < 0) budget.output(budget.outputLeft + 1);
    return `\n${indent}`;
  });
}

function renderVariable({ path, tag }: VariableNode, position: RenderPosition): string {
  const { scope } = position;
  const value = find(path, position);
  if (!isMissing(value)) return emit(textOf(value, scope.budget), position);
  noteMissing(path, position);
  return scope.onMissing === 'keep' ? emit(tag, position) : '';
}

function renderSection({ path, inverted, children }: SectionNode, position: RenderPosition): string {
  const value = find(path, position);
  const inner: RenderPosition = position.unconditional ? { ...position, unconditional: false } : position;
  if (inverted) return isTruthy(value) ? '' : renderNodes(children, inner);
  if (!isTruthy(value)) return '';
  let text = '';
  for (const item of Array.isArray(value) ? value : [value]) {
    position.scope.budget.step();
    position.frames.push({ value: item });
    text += renderNodes(children, inner);
    position.frames.pop();
  }
  return text;
}

/** Uses the rule of mustache.js: absent, null, false, 0, '' and the empty list are false. */
function isTruthy(value: unknown): boolean {
  return value !== absent && Boolean(value) && !(Array.isArray(value) && value.length === 0);
}

function renderPart(node: PartNode, position: RenderPosition): string {
  const { scope } = position;
  const part = scope.parts.get(node.ref);
  if (part === undefined) return renderUnknown(node, position);
  const partDepth = deeper(position.partDepth, node.ref);
  const given = readArguments(node.arguments, position);
  const indent = node.indent === undefined ? '' : position.indent + node.indent;
  if (part.format !== 'mustache') {
    const text = scope.renderIsolated(part, given, { partDepth, unconditional: position.unconditional });
    if (indent === '') return text;
    return emit((/^[^\r\n]/.test(text) ? indent : '') + indentLines(text, indent, position), position);
  }
  position.frames.push(given);
  const text = renderNodes(part.nodes, { ...position, partDepth, indent });
  position.frames.pop();
  return text;
}

function renderUnknown({ ref, tag }: PartNode, position: RenderPosition): string {
  if (position.scope.onMissing === 'error')
    throw new InvalidError('unknown_part', `The part ${JSON.stringify(ref)} does not exist`);
  return position.scope.onMissing === 'keep' ? emit(tag, position) : '';
}

/**
 * Evaluates the arguments of a part. An argument whose variable is absent still exists and is
 * missing, so the part does not see an outer variable of the same name.
 */
function readArguments(given: readonly ArgumentNode[], position: RenderPosition): Given {
  const value: Record<string, unknown> = Object.create(null);
  for (const argument of given) {
    position.scope.budget.step();
    if (!('path' in argument)) {
      value[argument.name] = argument.value;
      continue;
    }
    const { path } = argument;
    const found = find(path, position);
    value[argument.name] = found === absent ? undefined : found;
    if (isMissing(found)) noteMissing(path, position);
  }
  return { value, paths: pathsOf(given, position.frames) };
}

/**
 * Translates a name when it is looked for, once: most arguments are there, and only the names of missing ones are told.
 * A translation looks through the frames of all parts around this one.
 */
function pathsOf(given: readonly ArgumentNode[], frames: readonly Frame[]): ArgumentPaths {
  // The part adds its own frames to the list.
  const { length } = frames;
  const known = new Map<string, string | null>();
  return {
    get(name) {
      if (known.has(name)) return known.get(name);
      const argument = given.find((each) => each.name === name);
      if (argument === undefined) return undefined;
      if (!('path' in argument)) return null;
      const path = translate(argument.path, frames.slice(0, length));
      known.set(name, path);
      return path;
    },
  };
}

function find(path: readonly string[], { frames, scope }: RenderPosition): unknown {
  const { value, frame } = lookUp(frames, path);
  scope.budget.step(frames.length - Math.max(frame, 0));
  const outermost = frame === 0 && frames[0]?.paths === undefined;
  if (outermost && path[0] !== undefined && value !== absent) scope.used.add(path[0]);
  return value;
}

function noteMissing(path: readonly string[], { scope, frames, unconditional }: RenderPosition): void {
  const outer = translate(path, frames);
  recordMissing(scope, outer ?? path.join('.'), unconditional && outer !== null);
}

/** Translates a name inside a part to the name that the caller of the part uses; null if no variable of the caller gives it. */
function translate(path: readonly string[], frames: readonly Frame[]): string | null {
  const [first, ...rest] = path;
  if (first === undefined) return '.';
  const outer = frames[lookUp(frames, [first]).frame]?.paths?.get(first);
  return outer === null ? null : [outer ?? first, ...rest].join('.');
}

function emit(text: string, { scope }: RenderPosition): string {
  scope.budget.output(text.length);
  return text;
}
