import type { AnyValue, Attributes } from '../../../otlp/span.ts';
import { type Reader, type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { isObject, parsed, plain } from '../read-value.ts';
import { ofMessages } from './content.ts';
import type { Content, Message } from './message.ts';
import { embeddedParts, shapeMessage, shapeMessages, systemMessage } from './shape-messages.ts';

export const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';
export const CHOICE_EVENT = 'gen_ai.choice';
export const MESSAGE_EVENTS = ['system', 'user', 'assistant', 'tool'].map((role) => `gen_ai.${role}.message`);

/**
 * Returns a reader for the messages of all operation-details events of the span. Strands spreads
 * one call over several events.
 */
export function detailsMessages(key: string, role: string): Reader<Content> {
  return (_value, reading) => {
    const messages: Message[] = [];
    for (const { name, attributes } of reading.span.events) {
      if (name !== DETAILS_EVENT || messages.length >= limits.messagesMax) continue;
      const system = attributes.get('gen_ai.system_instructions') ?? null;
      const instructions =
        key === 'gen_ai.input.messages' ? systemMessage(parsed(system, reading) ?? system, reading) : undefined;
      if (instructions !== undefined) messages.unshift(instructions);
      messages.push(...detailsOf(attributes, key, role, reading));
    }
    return ofMessages(bounded(messages, reading), reading);
  };
}

/** Reads one message from each event, in order (semantic conventions up to 1.36). */
export function messageEvents(_value: unknown, reading: Reading): Content | undefined {
  const messages: Message[] = [];
  for (const { name, attributes } of reading.span.events) {
    const role = roleOfEvent.get(name);
    if (role === undefined || messages.length >= limits.messagesMax) continue;
    messages.push(eventMessage(attributes, role, reading));
  }
  return ofMessages(
    messages.filter(({ parts }) => parts.length > 0),
    reading,
  );
}

/** Reads the answers from `gen_ai.choice` events. */
export function choiceEvents(_value: unknown, reading: Reading): Content | undefined {
  const messages: Message[] = [];
  for (const { name, attributes } of reading.span.events) {
    if (name !== CHOICE_EVENT || messages.length >= limits.messagesMax) continue;
    messages.push(eventMessage(attributes, 'assistant', reading));
  }
  return ofMessages(
    messages.filter(({ parts }) => parts.length > 0),
    reading,
  );
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

const roleOfEvent = new Map(
  MESSAGE_EVENTS.map((name): [string, string] => [name, name.slice('gen_ai.'.length, -'.message'.length)]),
);

function detailsOf(attributes: Attributes, key: string, role: string, reading: Reading): Message[] {
  const value = attributes.get(key) ?? null;
  const shaped = shapeMessages(parsed(value, reading), role, reading);
  if (shaped !== undefined) return shaped;
  return typeof value === 'string' && value !== '' ? [{ role, parts: [{ type: 'text', content: value }] }] : [];
}

/**
 * Reads the message of an event. Its body is in `gen_ai.event.content` as JSON (Azure, older SDKs)
 * or in the attributes. The text is in `content`, or in `message` for a choice, and may be a JSON
 * list of message parts (Strands).
 */
function eventMessage(attributes: Attributes, role: string, reading: Reading): Message {
  const packed = parsed(attributes.get('gen_ai.event.content') ?? null, reading);
  const flat = isObject(packed)
    ? packed
    : Object.fromEntries(Array.from(attributes, ([key, value]) => [key, plain(value)]));
  const body = isObject(flat.message) ? { finish_reason: flat.finish_reason, ...flat.message } : flat;
  const said = embeddedParts(body.content ?? body.message, reading);
  return shapeMessage({ ...body, content: unpacked(said, reading), parts: undefined }, role, reading);
}

/**
 * Returns the content of a choice whose message is a whole message as JSON text; other text is
 * unchanged.
 */
function unpacked(said: unknown, reading: Reading): unknown {
  if (typeof said !== 'string' || !said.startsWith('{')) return said;
  const inner = parsed(said, reading);
  return isObject(inner) && inner.content !== undefined ? embeddedParts(inner.content, reading) : said;
}

function isChoice(each: unknown): each is Record<string, unknown> {
  return isObject(each) && each['event.name'] === CHOICE_EVENT;
}

function bounded(messages: Message[], reading: Reading): Message[] {
  if (messages.length <= limits.messagesMax) return messages;
  warn(reading, 'messages_truncated');
  return messages.slice(0, limits.messagesMax);
}
