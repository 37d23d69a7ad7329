import { type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { isObject, parsed } from '../read-value.ts';
import type { Message, Part } from './message.ts';
import { isMessage, type Json, lifted, roleOf } from './recognize-message.ts';
import { reasoningPart, shapePart, toolCallPart, toolResponsePart } from './shape-part.ts';
import { list, unwrapped } from './unwrap-messages.ts';

/**
 * Converts messages of any client to the stored format. Messages without a role get `role`. Returns
 * undefined when the value does not consist of messages or has more than `messagesMax` entries; it
 * is then stored unchanged.
 */
export function shapeMessages(value: unknown, role: string, reading: Reading): Message[] | undefined {
  const found = Array.isArray(value) ? list(value) : isObject(value) ? unwrapped(value, role) : undefined;
  if (found === undefined || found.length === 0 || found.length > limits.messagesMax) return undefined;
  const messages: Message[] = [];
  for (const each of found) {
    if (!isObject(each) || !isMessage(each)) return undefined;
    const from = lifted(each);
    if (isLong(contentOf(from)) || isLong(callsOf(from))) return undefined;
    const message = shapeLifted(from, role, reading);
    if (message.parts.length > limits.messagesMax) return undefined;
    messages.push(message);
  }
  return messages.some(({ parts }) => parts.length > 0) ? messages : undefined;
}

/**
 * Converts one message. Accepts the member names of all known clients. Content of more than
 * `messagesMax` parts becomes one part of type `other`, and of as many tool calls the first remain.
 */
export function shapeMessage(message: Json, defaultRole: string, reading: Reading): Message {
  return shapeLifted(lifted(message), defaultRole, reading);
}

function shapeLifted(from: Json, defaultRole: string, reading: Reading): Message {
  const role = roleOf(from, defaultRole);
  const parts = contentParts(contentOf(from), reading);
  const answers = from.tool_call_id ?? from.toolCallId ?? (role === 'tool' ? from.id : undefined);
  const shaped: Message = {
    role,
    parts: answersTool(role, answers, parts) ? [asResponse(answers, parts, reading)] : parts,
  };
  const thought = reasoningPart(from.reasoning_content);
  if (thought !== undefined) shaped.parts.unshift(thought);
  for (const call of toolCalls(from, reading)) shaped.parts.push(call);
  const finish = from.finish_reason ?? from.finishReason;
  const reason = Array.isArray(finish) ? finish[0] : finish;
  if (typeof reason === 'string' && reason !== '') shaped.finish_reason = reason;
  return shaped;
}

/** Returns the instructions as a system message, or undefined when they are empty. */
export function systemMessage(instructions: unknown, reading: Reading): Message | undefined {
  const parts = contentParts(instructions, reading);
  return parts.length === 0 ? undefined : { role: 'system', parts };
}

function contentOf(from: Json): unknown {
  return from.parts ?? from.content ?? from.contents;
}

function isLong(value: unknown): boolean {
  return Array.isArray(value) && value.length > limits.messagesMax;
}

function contentParts(content: unknown, reading: Reading): Part[] {
  if (isLong(content)) return [{ type: 'other', value: content }];
  const list = Array.isArray(content) ? content : [content];
  const parts: Part[] = [];
  for (const each of list) {
    const part = shapePart(each, reading);
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

/**
 * Returns the list in a text that is a JSON list of message parts (Traceloop, Strands), or the
 * content unchanged.
 */
export function embeddedParts(content: unknown, reading: Reading): unknown {
  if (typeof content !== 'string' || !content.startsWith('[')) return content;
  const inner = parsed(content, reading);
  const isList = Array.isArray(inner) && inner.length > 0 && inner.length <= limits.messagesMax;
  return isList && inner.every(isObject) ? inner : content;
}

function answersTool(role: string, id: unknown, parts: readonly Part[]): boolean {
  return (role === 'tool' || id !== undefined) && parts.length > 0 && parts.every(({ type }) => type === 'text');
}

function asResponse(id: unknown, parts: readonly Part[], reading: Reading): Part {
  const texts = parts.map((part) => (part.type === 'text' ? part.content : ''));
  return toolResponsePart(id, texts.join('\n'), reading);
}

function callsOf(message: Json): unknown {
  return message.tool_calls ?? message.toolCalls;
}

function toolCalls(message: Json, reading: Reading): Part[] {
  const calls = callsOf(message);
  const found = Array.isArray(calls) ? calls : isObject(message.function_call) ? [message.function_call] : [];
  if (isLong(found)) warn(reading, 'messages_truncated');
  return found
    .slice(0, limits.messagesMax)
    .map((call) => toolCallPart(call, reading))
    .filter((part) => part !== undefined);
}
