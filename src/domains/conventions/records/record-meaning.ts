import { RESULT_EVENT } from '../evaluations.ts';
import { CHOICE_EVENT, DETAILS_EVENT, messageRole } from '../messages/event-messages.ts';
import { EXCEPTION_EVENTS } from '../status.ts';

/** What a log record of one event name means for its span. */
export interface RecordMeaning {
  readonly is: 'message' | 'choice' | 'details' | 'content' | 'evaluation' | 'exception';
  /** The member that a text in the body is, or '' where such a text is a sentence for people. */
  readonly textMember: string;
}

/** A message of any role: `gen_ai.<role>.message`. */
const message: RecordMeaning = { is: 'message', textMember: 'content' };

const meanings = new Map<string, RecordMeaning>([
  [CHOICE_EVENT, { is: 'choice', textMember: 'message' }],
  [DETAILS_EVENT, { is: 'details', textMember: '' }],
  ['gen_ai.content.prompt', { is: 'content', textMember: 'gen_ai.prompt' }],
  ['gen_ai.content.completion', { is: 'content', textMember: 'gen_ai.completion' }],
  [RESULT_EVENT, { is: 'evaluation', textMember: '' }],
  ...EXCEPTION_EVENTS.map((name): [string, RecordMeaning] => [name, { is: 'exception', textMember: '' }]),
]);

/** Returns what a record of this event name means, or undefined for a record that is not of GenAI. */
export function recordMeaning(eventName: string): RecordMeaning | undefined {
  return meanings.get(eventName) ?? (messageRole(eventName) === undefined ? undefined : message);
}

/** Returns whether records of this event name have content, a judgement or an error of their span. */
export function isGenAiRecord(eventName: string): boolean {
  return recordMeaning(eventName) !== undefined;
}

/** Returns whether records of this event name judge a span or a trace. */
export function isEvaluationResult(eventName: string): boolean {
  return eventName === RESULT_EVENT;
}
