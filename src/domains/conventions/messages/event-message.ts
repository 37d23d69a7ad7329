import type { AnyValue, Attributes } from '../../../otlp/span.ts';
import { type Reading, warn } from '../candidates.ts';
import { isObject, member, parsed } from '../read-value.ts';
import type { Message, Part } from './message.ts';
import { pickAttributes, pickMembers } from './message-members.ts';
import { isMessage, type Json } from './recognize-message.ts';
import { embeddedParts, shapeMessage } from './shape-messages.ts';
import { isPart, isTypedPart } from './shape-part.ts';

/** The attribute in which Azure's SDKs send the body of an event, as JSON text. */
export const PACKED_BODY = 'gen_ai.event.content';

/** What google-genai sends in place of content that it must not capture. */
const ELIDED = '<elided>';

/** The content of an event, and the role beside it if it is a whole message. */
interface Said {
  role?: unknown;
  content: unknown;
}

/**
 * Reads the message of an event. Its members are in the attributes, or as JSON text in
 * `gen_ai.event.content`. A choice has them in `message`, with `tool_calls` inside or beside it.
 */
export function eventMessage(attributes: Attributes, role: string, reading: Reading): Message {
  const members = membersOf(attributes, reading);
  const message = wholeMessage(members.message, reading);
  const body = message === undefined ? members : withMessage(members, message, reading);
  const calls = listOf(body.tool_calls, reading);
  const said = saidIn(body, role, reading);
  if (isUnreadable(said.content) || isNoList(body.tool_calls, calls)) warn(reading, 'message_unread');
  const shaped = {
    ...body,
    role: body.role ?? said.role,
    content: said.content,
    parts: undefined,
    contents: undefined,
  };
  const found = shapeMessage(calls === undefined ? shaped : { ...shaped, tool_calls: calls }, role, reading);
  return { ...found, parts: found.parts.filter((part) => !isElided(part)) };
}

/** Returns whether content has values that are no parts of a message. They stay in the event alone. */
function isUnreadable(content: unknown): boolean {
  if (!Array.isArray(content)) return typeof content === 'number' || typeof content === 'boolean';
  return content.some((each) => each !== null && typeof each !== 'string' && !isObject(each));
}

function isNoList(sent: unknown, calls: unknown[] | undefined): boolean {
  return calls === undefined && sent !== undefined && sent !== null && sent !== '';
}

function isElided(part: Part): boolean {
  if (part.type === 'text') return part.content === ELIDED;
  return part.type === 'other' && isObject(part.value) && part.value.parts === ELIDED;
}

/** Returns one member of an event's body for readers of attributes. Structures of JSON text stay text. */
export function eventMember(attributes: Attributes, key: string, reading: Reading): AnyValue | undefined {
  const sent = attributes.get(key);
  if (sent !== undefined) return sent;
  const packed = member(attributes.get(PACKED_BODY) ?? null, [key], reading);
  if (packed === undefined || packed === null) return undefined;
  return typeof packed === 'string' ? packed : JSON.stringify(packed);
}

/** Returns the index of a choice. Choices without one are equal. */
export function choiceIndex(attributes: Attributes, reading: Reading): number {
  const index = Number(eventMember(attributes, 'index', reading) ?? 0);
  return Number.isFinite(index) ? index : 0;
}

function membersOf(attributes: Attributes, reading: Reading): Json {
  // JSON text in a member stays text.
  const read = (value: AnyValue) => (typeof value === 'string' ? value : parsed(value, reading));
  const flat = pickAttributes(attributes, read);
  const packed = attributes.get(PACKED_BODY);
  if (packed === undefined) return flat;
  if (packed instanceof Map) return { ...flat, ...pickAttributes(packed, read) };
  const body = typeof packed === 'string' ? (parsed(packed, reading) ?? packed) : read(packed);
  if (isObject(body)) return { ...flat, ...pickMembers(body) };
  return flat.content === undefined ? { ...flat, content: body } : flat;
}

/** Returns the message of a choice that is an object, or JSON text of one that has content or calls. */
function wholeMessage(sent: unknown, reading: Reading): Json | undefined {
  if (typeof sent !== 'string' || !sent.startsWith('{')) return isObject(sent) ? sent : undefined;
  const inner = parsed(sent, reading);
  return isObject(inner) && (isMessage(inner) || inner.content !== undefined) ? inner : undefined;
}

function withMessage(members: Json, message: Json, reading: Reading): Json {
  const inside = pickMembers(message);
  const calls = [inside.tool_calls ?? inside.toolCalls, members.tool_calls ?? members.toolCalls];
  const all = calls.flatMap((each) => listOf(each, reading) ?? []);
  return {
    ...members,
    message: undefined,
    ...inside,
    ...(all.length > 0 && { tool_calls: all, toolCalls: undefined }),
  };
}

function listOf(calls: unknown, reading: Reading): unknown[] | undefined {
  const list = typeof calls === 'string' ? parsed(calls, reading) : calls;
  return Array.isArray(list) ? list : undefined;
}

function saidIn(body: Json, role: string, reading: Reading): Said {
  const sent = body.content ?? body.parts ?? body.contents ?? body.message;
  if (sent === ELIDED) return { content: undefined };
  const content = embeddedParts(sent, reading);
  const isAnswer = role === 'tool' || body.role === 'tool' || body.role === 'function';
  return isAnswer
    ? answerOf(content, body.tool_call_id ?? body.toolCallId ?? body.id, reading)
    : opened(content, reading);
}

/**
 * Opens content that is one part, a whole message, or Google's `{parts, role}`, as a structure or as
 * JSON text. Other text that happens to be JSON stays text.
 */
function opened(content: unknown, reading: Reading): Said {
  const inner = typeof content === 'string' && content.startsWith('{') ? parsed(content, reading) : content;
  if (!isObject(inner) || isTypedPart(inner)) return { content: isObject(inner) ? [inner] : content };
  if (Array.isArray(inner.parts)) return { role: inner.role, content: inner.parts };
  if (inner.content !== undefined) return { role: inner.role, content: embeddedParts(inner.content, reading) };
  return { content };
}

/** Returns a tool's answer that is a structure of its own as one part. Texts and parts stay as they are. */
function answerOf(content: unknown, id: unknown, reading: Reading): Said {
  const isWhole = isObject(content) && (typeof content.role === 'string' || Array.isArray(content.parts));
  if (isWhole) return opened(content, reading);
  const isData = Array.isArray(content) ? !content.every(isPart) : isObject(content) && !isTypedPart(content);
  return { content: isData ? [{ type: 'tool_call_response', id, response: content }] : content };
}
