import { limits } from '../limits.ts';
import { isObject } from '../read-value.ts';
import type { Message } from './message.ts';
import { string } from './shape-part.ts';

export type Json = Record<string, unknown>;

const roles = new Map([
  ['model', 'assistant'],
  ['ai', 'assistant'],
  ['AIMessage', 'assistant'],
  ['AIMessageChunk', 'assistant'],
  ['human', 'user'],
  ['HumanMessage', 'user'],
  ['SystemMessage', 'system'],
  ['ToolMessage', 'tool'],
  ['function', 'tool'],
  ['function_call', 'assistant'],
  ['function_call_output', 'tool'],
  ['reasoning', 'assistant'],
]);

/**
 * Values of `type` that mark an object without a `role` as a message: those of LangChain, and the
 * items of OpenAI's Responses API.
 */
const messageTypes = new Set(['human', 'ai', 'system', 'tool', 'function_call', 'function_call_output', 'reasoning']);
/** The types of those items, each of which is a message and a part. */
export const itemTypes: ReadonlySet<unknown> = new Set(['function_call', 'function_call_output', 'reasoning']);
/**
 * Roles that are stored unchanged and whose texts stay texts. A tool's texts are answers instead.
 */
const plainRoles = new Set(['user', 'assistant', 'system']);
const bodyMembers = ['content', 'parts', 'contents', 'tool_calls', 'toolCalls', 'function_call', 'data'];

/**
 * Returns whether an object is a message: by its role, LangChain's members, the item types of the
 * Responses API, or Gemini's `parts`.
 */
export function isMessage(value: Json): boolean {
  if (itemTypes.has(value.type)) return true;
  const body = bodyMembers.some((member) => value[member] !== undefined);
  if (typeof value.role === 'string') return body;
  if (isObject(value.kwargs)) return isConstructor(value);
  if (typeof value['event.name'] === 'string') return body;
  if (Array.isArray(value.parts)) return value.parts.every(isObject);
  return typeof value.type === 'string' && messageTypes.has(value.type) && body;
}

/**
 * Returns whether a value is a list of plain text messages in the stored format already, as current
 * OpenTelemetry clients send. Such a list needs no conversion.
 */
export function isInOurShape(value: unknown): value is Message[] {
  return (
    Array.isArray(value) && value.length > 0 && value.length <= limits.messagesMax && value.every(isPlainTextMessage)
  );
}

function isPlainTextMessage(value: unknown): boolean {
  if (!isObject(value) || typeof value.role !== 'string' || !plainRoles.has(value.role)) return false;
  const { parts, finish_reason: reason } = value;
  if (reason !== undefined && (typeof reason !== 'string' || reason === '')) return false;
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > limits.messagesMax) return false;
  return hasMembers(value, reason === undefined ? 2 : 3) && parts.every(isTextPart);
}

function isTextPart(part: unknown): boolean {
  return (
    isObject(part) &&
    part.type === 'text' &&
    typeof part.content === 'string' &&
    part.content !== '' &&
    hasMembers(part, 2)
  );
}

/**
 * Returns whether the object has this number of members, without building a list of their names.
 */
function hasMembers(value: Json, count: number): boolean {
  let left = count;
  for (const _ in value) left--;
  return left === 0;
}

/**
 * Returns whether the object is a serialized LangChain object: class path and constructor
 * arguments.
 */
function isConstructor(value: Json): boolean {
  return Array.isArray(value.id) && isObject(value.kwargs);
}

/**
 * Moves a message's members to the top. LangChain keeps them in `kwargs` or `data`; the Responses
 * API sends each message part as an item.
 */
export function lifted(message: Json): Json {
  const type = message.type;
  if (itemTypes.has(type)) return { role: type, content: [message] };
  const below = isConstructor(message) ? message.kwargs : typeof type === 'string' ? message.data : undefined;
  if (!isObject(below)) return message;
  const id = message.id;
  return { ...below, role: below.role ?? (Array.isArray(id) ? id.at(-1) : (below.type ?? type)) };
}

/** Returns the role of a message in the stored format, or `defaultRole` when it has none. */
export function roleOf(message: Json, defaultRole: string): string {
  const named = message.role ?? message.type;
  if (typeof named === 'string' && named !== '' && named !== 'message') return roles.get(named) ?? named;
  const event = /^gen_ai\.(\w+)\.message$/.exec(string(message['event.name']))?.[1];
  return event ?? defaultRole;
}

/** Returns whether a value clearly is one message or a list of only messages, each with a role. */
export function isMessageList(value: unknown): boolean {
  const list = Array.isArray(value) ? value : [value];
  return list.length > 0 && list.every((each) => isObject(each) && typeof each.role === 'string' && isMessage(each));
}
