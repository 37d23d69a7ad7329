import { InvalidError } from '../../../lib/errors.ts';
import { textOf } from '../insert-value.ts';
import { absent, type Frame, type Given, isMissing, lookUp } from '../look-up.ts';
import type { PartArgument } from '../part-argument.ts';
import { deeper, type PartPlace, type RenderScope, recordMissing } from '../render-scope.ts';
import type { MustacheTemplate } from '../template.ts';
import { type Node, type PartNode, type SectionNode, splitName, type TextNode, type VariableNode } from './nodes.ts';

/** The current position of the render in the tree. */
interface Place {
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

function renderNodes(nodes: readonly Node[], place: Place): string {
  let text = '';
  for (const node of nodes) {
    place.scope.budget.step();
    text += node.kind === 'text' ? renderText(node, place) : renderTag(node, place);
  }
  return text;
}

function renderTag(node: Exclude<Node, TextNode>, place: Place): string {
  const before = node.lineStart && place.indent !== '' ? emit(place.indent, place) : '';
  if (node.kind === 'variable') return before + renderVariable(node, place);
  return before + (node.kind === 'section' ? renderSection(node, place) : renderPart(node, place));
}

/**
 * Indents the lines of the part as written. Lines of inserted values and empty lines are not
 * indented.
 */
function renderText({ text, lineStart }: TextNode, place: Place): string {
  if (place.indent === '') return emit(text, place);
  const indented = text.replace(/\n(?=[^\r\n])/g, `\n${place.indent}`);
  return emit(lineStart && !/^\r?\n/.test(text) ? place.indent + indented : indented, place);
}

function renderVariable({ path, tag }: VariableNode, place: Place): string {
  const { scope } = place;
  const value = find(path, place);
  if (!isMissing(value)) return emit(textOf(value, scope.budget), place);
  noteMissing(path, place);
  return scope.onMissing === 'keep' ? emit(tag, place) : '';
}

function renderSection({ path, inverted, children }: SectionNode, place: Place): string {
  const value = find(path, place);
  const inner: Place = place.unconditional ? { ...place, unconditional: false } : place;
  if (inverted) return isTruthy(value) ? '' : renderNodes(children, inner);
  if (!isTruthy(value)) return '';
  let text = '';
  for (const item of Array.isArray(value) ? value : [value]) {
    place.scope.budget.step();
    place.frames.push({ value: item });
    text += renderNodes(children, inner);
    place.frames.pop();
  }
  return text;
}

/** Uses the rule of mustache.js: absent, null, false, 0, '' and the empty list are false. */
function isTruthy(value: unknown): boolean {
  return value !== absent && Boolean(value) && !(Array.isArray(value) && value.length === 0);
}

function renderPart(node: PartNode, place: Place): string {
  const { scope } = place;
  const part = scope.parts.get(node.ref);
  if (part === undefined) return renderUnknown(node, place);
  const partDepth = deeper(place.partDepth, node.ref);
  const given = readArguments(node.arguments, place);
  const indent = node.indent === undefined ? '' : place.indent + node.indent;
  if (part.format !== 'mustache') {
    const text = scope.renderIsolated(part, given, { partDepth, unconditional: place.unconditional });
    return indent === '' ? text : emit(text.replace(/^(?=[^\r\n])/gm, indent), place);
  }
  place.frames.push(given);
  const text = renderNodes(part.nodes, { ...place, partDepth, indent });
  place.frames.pop();
  return text;
}

function renderUnknown({ ref, tag }: PartNode, place: Place): string {
  if (place.scope.onMissing === 'error')
    throw new InvalidError('unknown_part', `The part ${JSON.stringify(ref)} does not exist`);
  return place.scope.onMissing === 'keep' ? emit(tag, place) : '';
}

/**
 * Evaluates the arguments of a part. An argument whose variable is absent still exists and is
 * missing, so the part does not see an outer variable of the same name.
 */
function readArguments(given: readonly PartArgument[], place: Place): Given {
  const value: Record<string, unknown> = Object.create(null);
  const paths = new Map<string, string>();
  for (const argument of given) {
    place.scope.budget.step();
    if (!('path' in argument)) {
      value[argument.name] = argument.value;
      continue;
    }
    const path = splitName(argument.path);
    const found = find(path, place);
    value[argument.name] = found === absent ? undefined : found;
    paths.set(argument.name, translate(path, place.frames));
    if (isMissing(found)) noteMissing(path, place);
  }
  return { value, paths };
}

function find(path: readonly string[], { frames, scope }: Place): unknown {
  const { value, frame } = lookUp(frames, path);
  scope.budget.step(frames.length - Math.max(frame, 0));
  const outermost = frame === 0 && frames[0]?.paths === undefined;
  if (outermost && path[0] !== undefined && value !== absent) scope.used.add(path[0]);
  return value;
}

function noteMissing(path: readonly string[], { scope, frames, unconditional }: Place): void {
  recordMissing(scope, translate(path, frames), unconditional);
}

/** Translates a name inside a part to the name that the caller of the part uses. */
function translate(path: readonly string[], frames: readonly Frame[]): string {
  const [first, ...rest] = path;
  if (first === undefined) return '.';
  const paths = frames[lookUp(frames, [first]).frame]?.paths;
  return [paths?.get(first) ?? first, ...rest].join('.');
}

function emit(text: string, { scope }: Place): string {
  scope.budget.output(text.length);
  return text;
}
