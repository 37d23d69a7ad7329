import { beginningOf } from '../../../lib/beginning-of.ts';
import { isStorableText } from '../../../lib/storable-text.ts';
import { bytesOf, bytesPerToken, contentHash, promptTokensOf, templatesOf } from './candidate-content.ts';
import { type CandidateContent, type Row, RunFailed, type SearchPorts } from './ports.ts';
import { findHidden, type Probe, probeValues } from './probe-values.ts';
import { renderRow } from './render-row.ts';
import { findVerbatimSpan } from './verbatim-span.ts';

/** The variables and parts of one message. */
export interface Names {
  variables: readonly string[];
  /** The variables without which it cannot be rendered. */
  required: readonly string[];
  parts: readonly string[];
}

/** A candidate may be so many times as long as the base, before and after inputs are inserted. */
export const growthMax = 2;

/** What every candidate must keep of the base, and what it must not exceed. */
export interface GuardRules {
  base: CandidateContent;
  /** By the index of the message. */
  names: ReadonlyMap<number, Names>;
  /** A row that every candidate must render. */
  sample: Sample | undefined;
  promptTokensMax: number;
}

/** A row, and what the base makes of it. */
export interface Sample extends Pick<Row, 'inputs'> {
  /** UTF-8 bytes of the base with these inputs; 0 if it cannot be rendered. */
  bytes: number;
  /** The values that each message shows, by the index of the message. */
  probes: ReadonlyMap<number, readonly Probe[]>;
}

export interface Change {
  content: CandidateContent;
  /** The message that differs from the parent. */
  index: number;
  /** Texts of rows that the proposing model saw. */
  shown: readonly string[];
}

/** What a candidate is checked against. */
interface Guard {
  ports: Pick<SearchPorts, 'analyze' | 'render'>;
  rules: GuardRules;
  seen: ReadonlySet<string>;
}

/** Characters of a reason, and variables and parts that it names. */
const reasonCharsMax = 2_000;
const namedMax = 20;

/**
 * Returns why a candidate cannot be used, or undefined. Nothing is repaired: a prompt with another
 * variable is another prompt. Each message keeps its own variables and parts.
 */
export async function guardCandidate(guard: Guard, change: Change): Promise<string | undefined> {
  const reason = await findFault(guard, change);
  return reason && beginningOf(reason, reasonCharsMax);
}

async function findFault(
  { ports, rules, seen }: Guard,
  { content, index, shown }: Change,
): Promise<string | undefined> {
  const tokens = promptTokensOf(content);
  if (tokens > rules.promptTokensMax)
    return `It has about ${tokens} tokens; at most ${rules.promptTokensMax} are allowed.`;
  if (seen.has(contentHash(content))) return 'It was tried before.';
  if (!isStorableText(textOf(content))) return 'It has a NUL character or half of a surrogate pair.';
  const whole = await ports.analyze(content);
  const changed = whole.ok && content.type === 'chat' ? await ports.analyze(messageAt(content, index)) : whole;
  if (!changed.ok) return `It is not a valid template: ${changed.problem}`;
  const wanted = rules.names.get(index) ?? { variables: [], required: [], parts: [] };
  const differences = [
    ...differ('variable', wanted.variables, changed.variables),
    ...differ('part', wanted.parts, changed.parts),
  ];
  if (differences.length > 0) {
    const more = differences.length - namedMax;
    return [...differences.slice(0, namedMax), ...(more > 0 ? [`${more} more differ.`] : [])].join(' ');
  }
  const optional = wanted.required.find((name) => !changed.required.includes(name));
  if (optional !== undefined) return `The variable ${JSON.stringify(optional)} became optional.`;
  const problem = rules.sample && (await checkRendered(ports, { content, index }, rules, rules.sample));
  if (problem !== undefined) return problem;
  const span = await findVerbatimSpan(textOf(content), shown, textOf(rules.base));
  return span === undefined ? undefined : `It copies a row verbatim: "${span}".`;
}

/** Renders a candidate as the base was rendered. Names alone do not tell whether a value is shown, or how often. */
async function checkRendered(
  ports: Pick<SearchPorts, 'render'>,
  { content, index }: Omit<Change, 'shown'>,
  { promptTokensMax }: GuardRules,
  sample: Sample,
): Promise<string | undefined> {
  const rendered = await renderRow(ports, content, sample);
  if ('problem' in rendered) return `It cannot be rendered: ${rendered.problem}`;
  const [bytes, bytesMax] = [bytesOf(rendered.messages), growthMax * sample.bytes + promptTokensMax * bytesPerToken];
  if (bytes > bytesMax) return `With the inputs of a row it has ${bytes} bytes; at most ${bytesMax} are allowed.`;
  const hidden = await findHidden(ports, messageAt(content, index), sample.probes.get(index) ?? []);
  if (hidden === undefined) return undefined;
  return `It does not show the value of ${JSON.stringify(hidden)}, as the base does.`;
}

/** Renders the base with a row, for {@link guardCandidate}. */
export async function sampleOf(
  ports: Pick<SearchPorts, 'render'>,
  base: CandidateContent,
  { inputs }: Pick<Row, 'inputs'>,
): Promise<Sample> {
  const rendered = await renderRow(ports, base, { inputs });
  const probes = new Map<number, readonly Probe[]>();
  for (const { index } of templatesOf(base)) {
    probes.set(index, await probeValues(ports, messageAt(base, index), { inputs }));
  }
  return { inputs, bytes: 'problem' in rendered ? 0 : bytesOf(rendered.messages), probes };
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
  const [has, wants] = [new Set(got), new Set(wanted)];
  const missing = wanted.filter((name) => !has.has(name));
  const extra = got.filter((name) => !wants.has(name));
  return [
    ...missing.map((name) => `The ${noun} ${JSON.stringify(name)} is missing.`),
    ...extra.map((name) => `The ${noun} ${JSON.stringify(name)} is new; only those of the base are allowed.`),
  ];
}
