import { itemAt } from '../../lib/item-at.ts';
import { Pace, runInSlices, sharedThird } from '../../lib/pace.ts';
import { templateLimits } from './limits.ts';
import { mustacheSteps } from './mustache/parse-mustache.ts';
import { InvalidTemplateError, TemplateLimitError, type TemplateProblem } from './problems.ts';
import type { ParsedTemplate, TemplateFormat } from './template.ts';
import type { WorkspaceThreads } from './threads/template-threads.ts';

/**
 * Parses a template once for many renders. Liquid is parsed in a worker thread.
 * @throws InvalidTemplateError with all problems
 * @throws TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function parseTemplate(
  threads: WorkspaceThreads,
  format: TemplateFormat,
  source: string,
): Promise<ParsedTemplate> {
  const parsed = itemAt(await parseSources(threads, format, [source]), 0);
  if ('problems' in parsed) throw new InvalidTemplateError(parsed.problems);
  return parsed;
}

/**
 * Parses several sources as one piece of work. So a request takes one place in the lane for the
 * worker threads, however many messages its prompt has.
 * @throws TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function parseSources(
  threads: WorkspaceThreads,
  format: TemplateFormat,
  sources: readonly string[],
): Promise<(ParsedTemplate | { problems: readonly TemplateProblem[] })[]> {
  for (const { length } of sources) requireSize(length);
  if (format === 'mustache') return parseInSlices(threads.workspaceId, sources);
  if (format === 'liquid') return threads.run('parse', { sources: [...sources] });
  return sources.map((source) => ({ format, source, variables: [], parts: [] }));
}

function requireSize(characters: number): void {
  const { sourceCharactersMax } = templateLimits;
  if (characters <= sourceCharactersMax) return;
  throw new TemplateLimitError(
    `A template may have at most ${sourceCharactersMax} characters; this one has ${characters}`,
    'source',
  );
}

/** A source up to this length is parsed within a few milliseconds. */
const shortCharactersMax = 16_384;

async function parseInSlices(workspaceId: string, sources: readonly string[]) {
  const parsed: (ParsedTemplate | { problems: readonly TemplateProblem[] })[] = [];
  const rest = sharedThird(workspaceId);
  if (sources.reduce((sum, { length }) => sum + length, 0) > shortCharactersMax) await rest();
  const pace = new Pace(rest);
  for (const source of sources) {
    try {
      parsed.push(await runInSlices(mustacheSteps(source), pace));
    } catch (error) {
      if (!(error instanceof InvalidTemplateError)) throw error;
      parsed.push({ problems: error.problems });
    }
  }
  return parsed;
}
