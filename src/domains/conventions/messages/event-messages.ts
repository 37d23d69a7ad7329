import { textKey } from '../../../lib/text-key.ts';
import type { AnyValue } from '../../../otlp/span.ts';
import type { Reading } from '../candidates.ts';
import { eventReading, isObject, parsed } from '../read-value.ts';
import { ofMessages, saidByAssistant } from './content.ts';
import { choiceIndex, eventMessage } from './event-message.ts';
import { listed } from './listed-messages.ts';
import type { Content, Message, Part } from './message.ts';
import { shapeMessages, systemMessage } from './shape-messages.ts';
import { newest, withSystemFirst } from './system-messages.ts';

export const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';
export const CHOICE_EVENT = 'gen_ai.choice';
export const MESSAGE_EVENTS = ['system', 'user', 'assistant', 'tool'].map((role) => `gen_ai.${role}.message`);

/** Clients make the name from the role of the message, so it can be any role. */
const messageName = /^gen_ai\.([^.]{1,100})\.message$/;

/** Returns the role that the name of a message event says, or undefined for other events. */
export function messageRole(name: string): string | undefined {
  return messageName.exec(name)?.[1];
}

/**
 * Reads the input of all operation-details events of the span, the instructions first. Strands
 * spreads one call over several events.
 */
export function detailsInput(_value: AnyValue, reading: Reading): Content | undefined {
  const messages: Message[] = [];
  const system: Message[] = [];
  for (const { name, attributes } of reading.span.events) {
    if (name !== DETAILS_EVENT) continue;
    const own = eventReading(reading, attributes);
    const sent = attributes.get('gen_ai.system_instructions') ?? null;
    const instructions = systemMessage(parsed(sent, own) ?? sent, own);
    if (instructions !== undefined) system.push(instructions);
    messages.push(...listed(attributes.get('gen_ai.input.messages') ?? null, 'user', own));
  }
  return ofMessages(newest(withSystemFirst(system, messages), reading), reading);
}

/** Reads the output of all operation-details events of the span. */
export function detailsOutput(_value: AnyValue, reading: Reading): Content | undefined {
  const details = reading.span.events.filter(({ name }) => name === DETAILS_EVENT);
  const messages = details.flatMap(({ attributes }) =>
    listed(attributes.get('gen_ai.output.messages') ?? null, 'assistant', eventReading(reading, attributes)),
  );
  return ofMessages(newest(saidByAssistant(messages), reading), reading);
}

/** Reads one message from each event, in order (semantic conventions up to 1.36). */
export function messageEvents(_value: unknown, reading: Reading): Content | undefined {
  const messages: Message[] = [];
  for (const { name, attributes } of reading.span.events) {
    const role = messageRole(name);
    if (role !== undefined) messages.push(eventMessage(attributes, role, eventReading(reading, attributes)));
  }
  return ofMessages(newest(onceById(messages), reading), reading);
}

/** Reads the answers from `gen_ai.choice` events, by their index and then in order. */
export function choiceEvents(_value: unknown, reading: Reading): Content | undefined {
  const choices = reading.span.events
    .filter(({ name }) => name === CHOICE_EVENT)
    .map(({ attributes }) => ({ attributes, own: eventReading(reading, attributes) }))
    .map(({ attributes, own }) => ({ index: choiceIndex(attributes, own), attributes, own }))
    .sort((a, b) => a.index - b.index);
  const messages = choices.flatMap(({ attributes, own }) => onceById([eventMessage(attributes, 'assistant', own)]));
  return ofMessages(newest(saidByAssistant(messages), reading), reading);
}

/**
 * Reads events that are sent in an attribute, as a JSON list of their bodies (Pydantic AI's first
 * format). Leaves out the choices.
 */
export function loggedMessages(value: AnyValue, reading: Reading): Content | undefined {
  const sent = parsed(value, reading);
  const messages = Array.isArray(sent) ? sent.filter((each) => !isChoice(each)) : [];
  return ofMessages(shapeMessages(messages, 'user', reading) ?? [], reading);
}

/** Reads the choices from such an attribute; see {@link loggedMessages}. */
export function loggedChoices(value: AnyValue, reading: Reading): Content | undefined {
  const sent = parsed(value, reading);
  const choices = Array.isArray(sent) ? sent.filter(isChoice).map(({ message }) => message) : [];
  return ofMessages(shapeMessages(choices, 'assistant', reading) ?? [], reading);
}

function isChoice(each: unknown): each is Record<string, unknown> {
  return isObject(each) && each['event.name'] === CHOICE_EVENT;
}

/**
 * Leaves out calls and answers of tools whose id another one before has, and messages of which
 * nothing remains. Bedrock's instrumentation sends each call as `tool_calls` and again as a content
 * block, and each answer as a message of its own and again in the user's next message.
 */
function onceById(messages: readonly Message[]): Message[] {
  const seen = new Set<string>();
  return messages
    .map((message) => ({ ...message, parts: message.parts.filter((part) => isNew(part, seen)) }))
    .filter(({ parts }) => parts.length > 0);
}

function isNew(part: Part, seen: Set<string>): boolean {
  if ((part.type !== 'tool_call' && part.type !== 'tool_call_response') || part.id === '') return true;
  const key = textKey(`${part.type} ${part.id}`);
  return !seen.has(key) && seen.add(key) !== undefined;
}
