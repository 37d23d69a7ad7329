import { contentHash, promptTokensOf, templatesOf } from './candidate-content.ts';
import type { CandidateContent, SearchPorts } from './ports.ts';
import { findVerbatimSpan } from './verbatim-span.ts';

/** What every candidate must keep of the base, and what it must not exceed. */
export interface GuardRules {
  base: CandidateContent;
  variables: readonly string[];
  parts: readonly string[];
  promptTokensMax: number;
}

/**
 * Returns why a candidate cannot be used, or undefined. Nothing is repaired: a prompt with another
 * variable is another prompt.
 * @param shown texts of rows that the proposing model saw
 */
export async function guardCandidate(
  { ports, rules, seen }: { ports: Pick<SearchPorts, 'analyze'>; rules: GuardRules; seen: ReadonlySet<string> },
  content: CandidateContent,
  shown: readonly string[],
): Promise<string | undefined> {
  const tokens = promptTokensOf(content);
  if (tokens > rules.promptTokensMax)
    return `It has about ${tokens} tokens; at most ${rules.promptTokensMax} are allowed.`;
  if (seen.has(contentHash(content))) return 'It was tried before.';
  const analysis = await ports.analyze(content);
  if (!analysis.ok) return `It is not a valid template: ${analysis.problem}`;
  const differences = [
    ...differ('variable', rules.variables, analysis.variables),
    ...differ('part', rules.parts, analysis.parts),
  ];
  if (differences.length > 0) return differences.join(' ');
  const text = (of: CandidateContent) =>
    templatesOf(of)
      .map(({ template }) => template)
      .join('\n');
  const span = findVerbatimSpan(text(content), shown, text(rules.base));
  return span === undefined ? undefined : `It copies a row verbatim: "${span}".`;
}

function differ(noun: string, wanted: readonly string[], got: readonly string[]): string[] {
  const missing = wanted.filter((name) => !got.includes(name));
  const extra = got.filter((name) => !wanted.includes(name));
  return [
    ...missing.map((name) => `The ${noun} ${JSON.stringify(name)} is missing.`),
    ...extra.map((name) => `The ${noun} ${JSON.stringify(name)} is new; only those of the base are allowed.`),
  ];
}
