import { contentHash, promptTokensOf, templatesOf } from './candidate-content.ts';
import { type CandidateContent, type Row, RunFailed, type SearchPorts } from './ports.ts';
import { renderRow } from './render-row.ts';
import { findVerbatimSpan } from './verbatim-span.ts';

/** The variables and parts of one message. */
export interface Names {
  variables: readonly string[];
  parts: readonly string[];
}

/** What every candidate must keep of the base, and what it must not exceed. */
export interface GuardRules {
  base: CandidateContent;
  /** By the index of the message. */
  names: ReadonlyMap<number, Names>;
  /** A row that the base renders, and every candidate must render. */
  sample: Pick<Row, 'inputs'> | undefined;
  promptTokensMax: number;
}

export interface Change {
  content: CandidateContent;
  /** The message that differs from the parent. */
  index: number;
  /** Texts of rows that the proposing model saw. */
  shown: readonly string[];
}

/**
 * Returns why a candidate cannot be used, or undefined. Nothing is repaired: a prompt with another
 * variable is another prompt. Each message keeps its own variables and parts.
 */
export async function guardCandidate(
  {
    ports,
    rules,
    seen,
  }: {
    ports: Pick<SearchPorts, 'analyze' | 'render'>;
    rules: GuardRules;
    seen: ReadonlySet<string>;
  },
  { content, index, shown }: Change,
): Promise<string | undefined> {
  const tokens = promptTokensOf(content);
  if (tokens > rules.promptTokensMax)
    return `It has about ${tokens} tokens; at most ${rules.promptTokensMax} are allowed.`;
  if (seen.has(contentHash(content))) return 'It was tried before.';
  const whole = await ports.analyze(content);
  const changed = whole.ok && content.type === 'chat' ? await ports.analyze(messageAt(content, index)) : whole;
  if (!changed.ok) return `It is not a valid template: ${changed.problem}`;
  const wanted = rules.names.get(index) ?? { variables: [], parts: [] };
  const differences = [
    ...differ('variable', wanted.variables, changed.variables),
    ...differ('part', wanted.parts, changed.parts),
  ];
  if (differences.length > 0) return differences.join(' ');
  const rendered = rules.sample === undefined ? undefined : await renderRow(ports, content, rules.sample);
  if (rendered !== undefined && 'problem' in rendered) return `It cannot be rendered: ${rendered.problem}`;
  const span = findVerbatimSpan(textOf(content), shown, textOf(rules.base));
  return span === undefined ? undefined : `It copies a row verbatim: "${span}".`;
}

/**
 * Returns the variables and parts of each message.
 * @throws RunFailed if the template engine refuses the content
 */
export async function namesOf(
  ports: Pick<SearchPorts, 'analyze'>,
  content: CandidateContent,
): Promise<Map<number, Names>> {
  const names = new Map<number, Names>();
  for (const { index } of templatesOf(content)) {
    const analysis = await ports.analyze(messageAt(content, index));
    if (!analysis.ok) throw new RunFailed('internal', `The prompt cannot be parsed: ${analysis.problem}`);
    names.set(index, analysis);
  }
  return names;
}

function messageAt(content: CandidateContent, index: number): CandidateContent {
  const template = templatesOf(content).find((each) => each.index === index)?.template ?? '';
  return { type: 'text', template };
}

function textOf(content: CandidateContent): string {
  return templatesOf(content)
    .map(({ template }) => template)
    .join('\n');
}

function differ(noun: string, wanted: readonly string[], got: readonly string[]): string[] {
  const missing = wanted.filter((name) => !got.includes(name));
  const extra = got.filter((name) => !wanted.includes(name));
  return [
    ...missing.map((name) => `The ${noun} ${JSON.stringify(name)} is missing.`),
    ...extra.map((name) => `The ${noun} ${JSON.stringify(name)} is new; only those of the base are allowed.`),
  ];
}
