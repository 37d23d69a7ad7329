import { closest } from '../../../lib/closest.ts';
import { templateLimits } from '../limits.ts';
import { indexLines } from '../line-index.ts';
import { InvalidTemplateError, type Position, TemplateLimitError, type TemplateProblem } from '../problems.ts';
import type { MustacheTemplate, PartUse, VariableUse } from '../template.ts';
import { nameFault } from './names.ts';
import { type Node, splitName } from './nodes.ts';
import { readPartTag } from './part-tag.ts';
import { nextTag, ownLine, type Tag } from './scan-tags.ts';

/** An open section, or the template itself at the bottom of the stack. */
interface Level {
  name: string;
  tag: Tag | undefined;
  children: Node[];
  /** Names of the open sections, this one last. */
  within: readonly string[];
}

interface State {
  source: string;
  position: (begin: number, end: number) => Position;
  levels: Level[];
  nodes: number;
  problems: TemplateProblem[];
  variables: VariableUse[];
  parts: PartUse[];
}

/**
 * Parses Mustache as in mustache(5), without lambdas, custom delimiters and escaping.
 * @throws InvalidTemplateError, TemplateLimitError
 */
export function parseMustache(source: string): MustacheTemplate {
  const steps = mustacheSteps(source);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

/** Parses like {@link parseMustache}, but yields after each tag. */
export function* mustacheSteps(source: string): Generator<void, MustacheTemplate> {
  const root: Level = { name: '', tag: undefined, children: [], within: [] };
  const state: State = {
    source,
    position: indexLines(source),
    levels: [root],
    nodes: 0,
    problems: [],
    variables: [],
    parts: [],
  };
  let at = 0;
  for (let tag = nextTag(source, at); tag !== undefined; tag = nextTag(source, at)) {
    if ('unclosed' in tag) {
      complain(state, tag.unclosed, tag.unclosed + 2, 'unclosed_tag', 'The tag is not closed with }}');
      break;
    }
    at = readTag(state, tag, at);
    yield;
    if (state.problems.length >= templateLimits.problemsMax) break;
  }
  addText(state, at, source.length);
  for (const { name, tag } of state.levels.slice(1)) if (tag) complainOpen(state, name, tag);
  if (state.problems.length > 0) throw new InvalidTemplateError(state.problems.sort(byPosition));
  return { format: 'mustache', source, nodes: root.children, variables: state.variables, parts: state.parts };
}

/** Reads the text before the tag and the tag itself. Returns the offset to continue at. */
function readTag(state: State, tag: Tag, from: number): number {
  const own = standalone.has(tag.sigil) ? ownLine(state.source, tag, from) : undefined;
  addText(state, from, own?.from ?? tag.begin);
  const indent = own === undefined ? undefined : state.source.slice(own.from, tag.begin);
  const lineStart = own === undefined && startsLine(state.source, tag.begin);
  const read = readers[tag.sigil];
  if (read === undefined) readVariable(state, tag, lineStart);
  else read(state, tag, lineStart, indent);
  return own?.to ?? tag.end;
}

const standalone = new Set(['#', '^', '/', '>', '!', '=']);

type Reader = (state: State, tag: Tag, lineStart: boolean, indent: string | undefined) => void;

const readers: Readonly<Record<string, Reader>> = {
  '#': (state, tag, lineStart) => openSection(state, tag, lineStart, false),
  '^': (state, tag, lineStart) => openSection(state, tag, lineStart, true),
  '/': closeSection,
  '>': readPart,
  '!': (state, _tag, lineStart) => markLine(state, lineStart),
  '=': refuse('delimiters_refused', 'The delimiters cannot be changed. Use {{ and }}'),
  '<': refuse('inheritance_refused', 'Parents and blocks are not supported. Use a part with arguments'),
  $: refuse('inheritance_refused', 'Parents and blocks are not supported. Use a part with arguments'),
};

function readVariable(state: State, tag: Tag, lineStart: boolean): void {
  const name = tag.inside.trim();
  if (!checkName(state, name, tag)) return;
  noteVariable(state, name, tag, true);
  add(state, { kind: 'variable', path: splitName(name), tag: state.source.slice(tag.begin, tag.end), lineStart });
}

function openSection(state: State, tag: Tag, lineStart: boolean, inverted: boolean): void {
  const name = tag.inside.trim();
  if (checkName(state, name, tag)) noteVariable(state, name, tag, false);
  const children: Node[] = [];
  add(state, { kind: 'section', path: splitName(name), inverted, children, lineStart });
  state.levels.push({ name, tag, children, within: [...within(state), name] });
  if (state.levels.length > templateLimits.nestingMax + 1) {
    throw new TemplateLimitError(`Sections may be nested at most ${templateLimits.nestingMax} levels deep`, 'nesting');
  }
}

/**
 * Closes a section. A tag that closes an outer section also closes the sections inside it, so that
 * one mistake gives one problem.
 */
function closeSection(state: State, tag: Tag, lineStart: boolean): void {
  markLine(state, lineStart);
  const name = tag.inside.trim();
  const opened = state.levels.findLastIndex((level, index) => index > 0 && level.name === name);
  if (opened > 0) {
    for (const level of state.levels.splice(opened).slice(1)) if (level.tag) complainOpen(state, level.name, level.tag);
    return;
  }
  const open = state.levels.at(-1);
  if (open?.tag === undefined) {
    complain(state, tag.begin, tag.end, 'unexpected_close', `{{/${short(name)}}} closes nothing`);
    return;
  }
  const slip = closest(name, [open.name]);
  const message = `{{/${short(name)}}} does not close the open section {{#${short(open.name)}}}`;
  complain(state, tag.begin, tag.end, 'mismatched_close', message, slip === undefined ? undefined : `{{/${slip}}}`);
  if (slip !== undefined) state.levels.pop();
}

function readPart(state: State, tag: Tag, lineStart: boolean, indent: string | undefined): void {
  const read = readPartTag(tag.inside);
  if ('fault' in read) {
    complain(state, tag.begin, tag.end, 'invalid_part', read.fault);
    return;
  }
  const position = state.position(tag.begin, tag.end);
  state.parts.push({ ...read, ...position, unconditional: state.levels.length === 1, within: within(state) });
  for (const argument of read.arguments) if ('path' in argument) noteVariable(state, argument.path, tag, true);
  const source = state.source.slice(tag.begin, tag.end);
  const given = read.arguments.map((each) => ('path' in each ? { ...each, path: splitName(each.path) } : each));
  add(state, { kind: 'part', ref: read.ref, arguments: given, indent, tag: source, lineStart });
}

function refuse(code: string, message: string): Reader {
  return (state, tag) => complain(state, tag.begin, tag.end, code, message);
}

/** Records the use of a variable. `{{.}}` is the current item of a section, not a variable. */
function noteVariable(state: State, name: string, tag: Tag, inserted: boolean): void {
  if (name === '.') return;
  const unconditional = inserted && state.levels.length === 1;
  state.variables.push({ path: name, ...state.position(tag.begin, tag.end), unconditional, within: within(state) });
}

const within = (state: State) => state.levels.at(-1)?.within ?? [];

function checkName(state: State, name: string, tag: Tag): boolean {
  const fault = name === '.' ? undefined : nameFault(name);
  if (fault !== undefined) complain(state, tag.begin, tag.end, name === '' ? 'empty_tag' : 'invalid_name', fault);
  return fault === undefined;
}

function addText(state: State, from: number, to: number): void {
  if (to <= from) return;
  const text = state.source.slice(from, to);
  add(state, { kind: 'text', text, lineStart: startsLine(state.source, from) });
}

/** Adds an empty text for a tag that renders nothing but is the first on its line. */
function markLine(state: State, lineStart: boolean): void {
  if (lineStart) add(state, { kind: 'text', text: '', lineStart });
}

function add(state: State, node: Node): void {
  if (++state.nodes > templateLimits.nodesMax) {
    throw new TemplateLimitError(
      `A template may have at most ${templateLimits.nodesMax} tags and texts between tags`,
      'nodes',
    );
  }
  state.levels.at(-1)?.children.push(node);
}

const startsLine = (source: string, at: number) => at === 0 || source.charCodeAt(at - 1) === 10;
const short = (name: string) => name.slice(0, 80);
const byPosition = (a: Position, b: Position) => a.line - b.line || a.column - b.column;

function complainOpen(state: State, name: string, { begin, end, sigil }: Tag): void {
  const message = `The section {{${sigil}${short(name)}}} is not closed`;
  complain(state, begin, end, 'unclosed_section', message, `{{/${short(name)}}}`);
}

function complain(state: State, begin: number, end: number, code: string, message: string, suggestion?: string): void {
  const position = state.position(begin, end);
  const said = suggestion === undefined ? {} : { suggestion };
  state.problems.push({ path: 'template', code, message, ...position, ...said });
}
