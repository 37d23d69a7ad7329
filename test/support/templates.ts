import { InvalidTemplateError } from '../../src/domains/templates/index.ts';
import { parseMustache } from '../../src/domains/templates/mustache/parse-mustache.ts';
import { renderTexts } from '../../src/domains/templates/render-texts.ts';
import type { OnMissing, ParsedTemplate } from '../../src/domains/templates/template.ts';

/** Mustache sources as parts, by their references. */
export function partsOf(sources: Readonly<Record<string, string>>): Map<string, ParsedTemplate> {
  return new Map(Object.entries(sources).map(([ref, source]) => [ref, parseMustache(source)]));
}

/** Renders Mustache like a request, without a thread. The required variables that are missing are in `needed`. */
export function renderSource(
  source: string,
  variables: Record<string, unknown> = {},
  { parts = {}, onMissing = 'empty' }: { parts?: Record<string, string>; onMissing?: OnMissing } = {},
) {
  const options = { variables, parts: partsOf(parts), onMissing };
  const { texts, ...rest } = renderTexts([parseMustache(source)], options, 1_000, () => {
    throw new Error('This template must not be Liquid');
  });
  return { text: texts[0] ?? '', ...rest };
}

/** Returns the problems of a source that cannot be parsed. */
export async function problemsOf(parse: () => unknown) {
  try {
    await parse();
  } catch (error) {
    if (error instanceof InvalidTemplateError) return error.problems;
    throw error;
  }
  throw new Error('The source was parsed without a problem');
}
