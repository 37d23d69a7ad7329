import { templateLimits } from '../limits.ts';
import type { PartArgument } from '../part-argument.ts';
import { nameFault } from './names.ts';

export type PartTag = { slug: string; ref: string; arguments: PartArgument[] } | { fault: string };

const reference = /^([A-Za-z0-9][A-Za-z0-9_.-]*)(?:@([A-Za-z0-9][A-Za-z0-9_.-]*))?$/;

/**
 * Reads the reference in a part tag: `slug`, `slug@3` or `slug@label`. Returns undefined for
 * anything else.
 */
export function readReference(text: string): { slug: string; ref: string } | undefined {
  if (text.length > templateLimits.nameCharactersMax) return undefined;
  const slug = reference.exec(text)?.[1];
  return slug === undefined ? undefined : { slug, ref: text };
}
/**
 * `name=`, followed by a quoted string with backslash escapes or a bare word. Every alternative
 * starts differently, so it matches in linear time.
 */
const argument = /\s+([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"'=]+))/sy;

/** Reads the content of `{{> slug@3 tone="formal" who=user.name n=3}}` after the `>`. */
export function readPartTag(inside: string): PartTag {
  const text = inside.trim();
  const end = /\s/.exec(text)?.index ?? text.length;
  const called = readReference(text.slice(0, end));
  if (called === undefined) {
    return { fault: `A part tag must contain slug, slug@version or slug@label, not ${quote(text.slice(0, end))}` };
  }
  const given = new Map<string, PartArgument>();
  argument.lastIndex = end;
  while (argument.lastIndex < text.length) {
    const at = argument.lastIndex;
    const match = argument.exec(text);
    if (match === null)
      return {
        fault: `Arguments must have the form name="text" or name=variable, not ${quote(text.slice(at).trim())}`,
      };
    const read = readArgument(match);
    if ('fault' in read) return read;
    if (given.has(read.name)) return { fault: `The argument ${quote(read.name)} is given twice` };
    given.set(read.name, read);
    if (given.size > templateLimits.argumentsMax) {
      return { fault: `A part may have at most ${templateLimits.argumentsMax} arguments` };
    }
  }
  return { ...called, arguments: [...given.values()] };
}

function readArgument([, name = '', double, single, bare = '']: RegExpExecArray): PartArgument | { fault: string } {
  const fault = name.includes('.') ? `The name of an argument must not contain a dot: ${quote(name)}` : nameFault(name);
  if (fault !== undefined) return { fault };
  const quoted = double ?? single;
  if (quoted !== undefined) return { name, value: unescaped(quoted) };
  if (literals.has(bare)) return { name, value: literals.get(bare) ?? null };
  if (/^-?\d/.test(bare)) {
    const value = Number(bare);
    return Number.isFinite(value) ? { name, value } : { fault: `${quote(bare)} is neither a number nor a name` };
  }
  const pathFault = bare === '.' ? undefined : nameFault(bare);
  return pathFault === undefined ? { name, path: bare } : { fault: pathFault };
}

const literals = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

const escapes = new Map([
  ['n', '\n'],
  ['t', '\t'],
]);

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, letter: string) => escapes.get(letter) ?? letter);
}

const quote = (text: string) => JSON.stringify(text.slice(0, 80));
