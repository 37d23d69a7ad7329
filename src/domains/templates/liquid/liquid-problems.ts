import type { Liquid, LiquidError } from 'liquidjs';
import { closest } from '../../../lib/closest.ts';
import { templateLimits } from '../limits.ts';
import { indexLines } from '../line-index.ts';
import type { TemplateProblem } from '../problems.ts';
import { filterNames } from './engine.ts';

/**
 * Converts an error that LiquidJS threw about a source into problems; returns undefined for any
 * other error.
 */
export function problemsOf(error: unknown, source: string, liquid: Liquid): TemplateProblem[] | undefined {
  if (!isLiquidError(error)) return undefined;
  const position = indexLines(source);
  const all = 'errors' in error && Array.isArray(error.errors) ? error.errors.filter(isLiquidError) : [error];
  const problems = all.slice(0, templateLimits.problemsMax).map((each) => {
    const [begin, end] = tagAround(source, each.token.begin, each.token.end);
    return { path: 'template', ...describe(each, liquid), ...position(begin, end) };
  });
  // A faulty block leaves the tags after it without their opening tag, so only the first of these
  // problems is meaningful.
  return problems.filter(({ code }, index) => index === 0 || code !== 'stray_tag');
}

/**
 * Returns whether the parser ran out of stack. LiquidJS reports that as one error of the source among
 * others.
 */
export function causedByStack(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  if (!isLiquidError(error)) return false;
  const all: unknown[] = 'errors' in error && Array.isArray(error.errors) ? error.errors : [error];
  return all.some((each) => isLiquidError(each) && each.originalError instanceof RangeError);
}

/** Returns whether LiquidJS made the error. */
export function isLiquidError(error: unknown): error is LiquidError {
  return error instanceof Error && 'token' in error && 'context' in error;
}

/** Returns the offsets of the tag that contains a token. */
export function tagAround(source: string, begin: number, end: number): [number, number] {
  if (/^\{[{%]/.test(source.slice(begin, begin + 2))) return [begin, end];
  const opened = Math.max(source.lastIndexOf('{{', begin), source.lastIndexOf('{%', begin));
  if (opened === -1) return [begin, end];
  const closed = source.indexOf(source.startsWith('{{', opened) ? '}}' : '%}', begin);
  return closed === -1 ? [opened, end] : [opened, closed + 2];
}

const blockEnds = /^(?:end\w+|else|elsif|when)$/;

function describe(error: LiquidError, liquid: Liquid): { code: string; message: string; suggestion?: string } {
  const message = (error.originalError?.message ?? error.message)
    .replace(/, (?:file:.*|line:\d+.*)$/s, '')
    .slice(0, 300);
  const filter = /^undefined filter: (.*)$/s.exec(message)?.[1];
  if (filter !== undefined) {
    return {
      code: 'unknown_filter',
      message: `The filter \`${filter}\` does not exist`,
      ...suggest(filter, filterNames(liquid)),
    };
  }
  const tag = /^tag "(.*)" not found$/s.exec(message)?.[1];
  if (tag === undefined) return { code: / not closed$/.test(message) ? 'unclosed_tag' : 'syntax_error', message };
  if (blockEnds.test(tag)) return { code: 'stray_tag', message: `\`${tag}\` has no open block to close or continue` };
  if (tag === 'include' || tag === 'layout' || tag === 'block') {
    return { code: 'tag_refused', message: `\`${tag}\` is not supported; use \`render\` with arguments` };
  }
  return {
    code: 'unknown_tag',
    message: `The tag \`${tag}\` does not exist`,
    ...suggest(tag, Object.keys(liquid.tags)),
  };
}

function suggest(word: string, known: string[]): { suggestion?: string } {
  const suggestion = closest(word, known);
  return suggestion === undefined ? {} : { suggestion };
}
