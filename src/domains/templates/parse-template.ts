import { templateLimits } from './limits.ts';
import { parseMustache } from './mustache/parse-mustache.ts';
import { TemplateLimitError } from './problems.ts';
import type { ParsedTemplate, TemplateFormat } from './template.ts';
import type { TemplateThreads } from './threads/template-threads.ts';

/**
 * Parses a template once for many renders; liquid in a thread. Throws InvalidTemplateError with all that is wrong,
 * TemplateLimitError, UnavailableError.
 */
export async function parseTemplate(
  threads: TemplateThreads,
  format: TemplateFormat,
  source: string,
): Promise<ParsedTemplate> {
  if (source.length > templateLimits.sourceCharactersMax) {
    throw new TemplateLimitError(
      `A template has at most ${templateLimits.sourceCharactersMax} characters; this one has ${source.length}`,
      'source',
    );
  }
  if (format === 'mustache') return parseMustache(source);
  if (format === 'liquid') return threads.run('parse', { source });
  return { format, source, variables: [], parts: [] };
}
