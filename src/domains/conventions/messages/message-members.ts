import type { AnyValue, Attributes } from '../../../otlp/span.ts';
import { itemTypes, type Json } from './recognize-message.ts';

/** Members of a message that are read. */
const messageMembers = new Set([
  ...['role', 'type', 'event.name', 'content', 'parts', 'contents', 'message', 'tool_calls', 'toolCalls'],
  ...['function_call', 'reasoning_content', 'tool_call_id', 'toolCallId', 'id', 'kwargs', 'data'],
  ...['finish_reason', 'finishReason'],
]);
/** Those of an item of OpenAI's Responses API, which is a message and a part. */
const itemMembers = new Set([
  ...messageMembers,
  ...['function', 'name', 'toolName', 'tool_name', 'call_id', 'toolUseId', 'tool_use_id', 'ref'],
  ...['arguments', 'args', 'input', 'response', 'result', 'output', 'text', 'thinking', 'summary'],
]);

/**
 * Returns those members of a message that are read and not empty. A message may have a hundred thousand
 * others, and copying them takes longer than parsing them.
 */
export function pickMembers(message: Json): Json {
  const found: Json = {};
  const names = namesFor(message.type);
  for (const name in message) if (names.has(name) && message[name] !== null) found[name] = message[name];
  return found;
}

/** Returns those attributes that are read and not empty as members of a message, each as `read` returns it. */
export function pickAttributes(attributes: Attributes, read: (value: AnyValue) => unknown): Json {
  const found: Json = {};
  const names = namesFor(attributes.get('type'));
  for (const [name, value] of attributes) if (names.has(name) && value !== null) found[name] = read(value);
  return found;
}

function namesFor(type: unknown): ReadonlySet<string> {
  return itemTypes.has(type) ? itemMembers : messageMembers;
}
