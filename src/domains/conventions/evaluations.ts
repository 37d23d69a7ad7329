import { textKey } from '../../lib/text-key.ts';
import type { AnyValue, SpanEvent } from '../../otlp/span.ts';
import { event, field, indexed, isBelow, type Reading, warn } from './candidates.ts';
import { limits } from './limits.ts';
import { isObject, longText, number, parsed, text } from './read-value.ts';

/**
 * An evaluation by a person or a program: of the span that carries it, of its trace, or of its
 * session.
 */
interface Evaluation {
  name?: string;
  target: string;
  score?: number;
  label?: string;
  explanation?: string;
  annotator_kind?: string;
  identifier?: string;
  metadata?: Record<string, unknown>;
  response_id?: string;
}

export const RESULT_EVENT = 'gen_ai.evaluation.result';

/** Says `trace` where the result of an event judges the whole trace. */
export const TARGET_KEY = 'promptlane.evaluation.target';

/**
 * Prefixes and targets of OpenInference's `<prefix>N.annotation.<member>` and
 * `<prefix>N.evaluation.<member>` (spec/annotations.md).
 */
const lists = [
  { prefix: 'annotations.', target: 'span' },
  { prefix: 'evaluations.', target: 'span' },
  { prefix: 'trace.annotations.', target: 'trace' },
  { prefix: 'trace.evaluations.', target: 'trace' },
  { prefix: 'session.annotations.', target: 'session' },
  { prefix: 'session.evaluations.', target: 'session' },
] as const;

/** All sources count here, not only the best one, so every source has the reader of all. */
export const evaluations = field<string>('evaluations', [
  event(RESULT_EVENT, all),
  ...lists.map(({ prefix }) => indexed(prefix, all)),
]);

/** Attributes of the event, and the member that each becomes. */
const eventKeys = new Map([
  ['gen_ai.evaluation.name', 'name'],
  ['gen_ai.evaluation.score.value', 'score'],
  ['gen_ai.evaluation.score.label', 'label'],
  ['gen_ai.evaluation.explanation', 'explanation'],
  ['gen_ai.response.id', 'response_id'],
]);

type Members = Map<string, AnyValue>;

/**
 * Returns the evaluations of a span together with those of other events, such as its log records. A
 * result that both have is listed once.
 */
export function evaluationsWith(events: readonly SpanEvent[], reading: Reading): string | undefined {
  return all(null, { ...reading, span: { ...reading.span, events: [...reading.span.events, ...events] } });
}

/**
 * Returns all evaluations as a JSON list. A result that was sent in both of OpenInference's forms
 * is listed once.
 */
function all(_value: AnyValue, reading: Reading): string | undefined {
  const found = new Map<string, string>();
  const add = (members: Members, target: string) => {
    const read = evaluation(members, target, reading);
    if (read === undefined) return;
    const text = JSON.stringify(read);
    if (found.size < limits.evaluationsMax) found.set(textKey(text), text);
    else warn(reading, 'evaluations_truncated');
  };
  for (const each of reading.span.events) if (each.name === RESULT_EVENT) add(ofEvent(each), targetOf(each));
  for (const { prefix, target } of lists) for (const members of flattened(prefix, reading)) add(members, target);
  return found.size === 0 ? undefined : `[${[...found.values()].join(',')}]`;
}

function targetOf({ attributes }: SpanEvent): 'trace' | 'span' {
  return attributes.get(TARGET_KEY) === 'trace' ? 'trace' : 'span';
}

function ofEvent({ attributes }: SpanEvent): Members {
  const members: Members = new Map();
  for (const [key, member] of eventKeys) members.set(member, attributes.get(key) ?? null);
  return members;
}

function flattened(prefix: string, { span, familyKeys }: Reading): Members[] {
  const byIndex = new Map<number, Members>();
  for (const key of familyKeys) {
    if (!isBelow(key, prefix)) continue;
    const [, index, member] = /^(\d{1,6})\.(?:annotation|evaluation)\.(\w{1,40})$/.exec(key.slice(prefix.length)) ?? [];
    if (index === undefined || member === undefined) continue;
    const members: Members = byIndex.get(Number(index)) ?? new Map();
    byIndex.set(Number(index), members.set(member, span.attributes.get(key) ?? null));
  }
  return [...byIndex].sort(([a], [b]) => a - b).map(([, members]) => members);
}

/** Returns undefined when there is no score, no label and no explanation. */
function evaluation(members: Members, target: string, reading: Reading): Evaluation | undefined {
  const texts = ['name', 'label', 'annotator_kind', 'identifier', 'response_id'].map((member) => [
    member,
    text(members.get(member) ?? null),
  ]);
  const read: Evaluation = { target, ...Object.fromEntries(texts.filter(([, value]) => value !== undefined)) };
  const score = number(members.get('score'));
  if (score !== undefined && Number.isFinite(score)) read.score = score;
  else if (score !== undefined) warn(reading, 'bad_evaluation_score');
  const explanation = longText(members.get('explanation') ?? null, limits.explanationCharsMax);
  if (explanation !== undefined) read.explanation = explanation;
  const metadata = parsed(members.get('metadata') ?? null, reading);
  if (isObject(metadata) && JSON.stringify(metadata).length <= limits.explanationCharsMax) read.metadata = metadata;
  return (read.score ?? read.label ?? read.explanation) === undefined ? undefined : read;
}
