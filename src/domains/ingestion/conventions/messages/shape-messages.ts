import { limits } from '../limits.ts';
import { isObject, parseJson } from '../read-value.ts';
import type { Message, Part } from './message.ts';
import { reasoningPart, shapePart, string, toolCallPart, toolResponsePart } from './shape-part.ts';

type Json = Record<string, unknown>;

/**
 * Messages of any client as ours, or undefined when the value is not messages (then it is kept as it was).
 * `role` is for messages that do not say theirs. More than `messagesMax` entries are not messages either.
 */
export function shapeMessages(value: unknown, role: string): Message[] | undefined {
  const found = Array.isArray(value) ? list(value) : isObject(value) ? unwrapped(value, role) : undefined;
  if (found === undefined || found.length === 0 || found.length > limits.messagesMax) return undefined;
  const messages: Message[] = [];
  for (const each of found) {
    if (!isObject(each) || !isMessage(each)) return undefined;
    const message = shapeMessage(each, role);
    if (message.parts.length > limits.messagesMax) return undefined;
    messages.push(message);
  }
  return messages.some(({ parts }) => parts.length > 0) ? messages : undefined;
}

/** One message; its members may be spelled as any client does. */
export function shapeMessage(message: Json, defaultRole: string): Message {
  const from = lifted(message);
  const role = roleOf(from, defaultRole);
  const parts = contentParts(from.parts ?? from.content ?? from.contents);
  const answers = from.tool_call_id ?? from.toolCallId;
  const shaped: Message = { role, parts: answersTool(role, answers, parts) ? [asResponse(answers, parts)] : parts };
  const thought = reasoningPart(from.reasoning_content);
  if (thought !== undefined) shaped.parts.unshift(thought);
  for (const call of toolCalls(from)) shaped.parts.push(call);
  const finish = from.finish_reason ?? from.finishReason;
  const reason = Array.isArray(finish) ? finish[0] : finish;
  if (typeof reason === 'string' && reason !== '') shaped.finish_reason = reason;
  return shaped;
}

export function systemMessage(instructions: unknown): Message | undefined {
  const parts = contentParts(instructions);
  return parts.length === 0 ? undefined : { role: 'system', parts };
}

export function contentParts(content: unknown): Part[] {
  const list = Array.isArray(content) ? content : [content];
  const parts: Part[] = [];
  for (const each of list) {
    const part = shapePart(each);
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

/** Text that is itself a JSON list of parts (Traceloop, Strands) as that list. */
export function embeddedParts(content: unknown): unknown {
  if (typeof content !== 'string' || !content.startsWith('[') || content.length > limits.jsonCharsMax) return content;
  const inner = parseJson(content);
  return Array.isArray(inner) && inner.length > 0 && inner.every(isObject) ? inner : content;
}

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

/** `type` values that make an object a message without a `role`: LangChain's, and the items of OpenAI's Responses API. */
const messageTypes = new Set(['human', 'ai', 'system', 'tool', 'function_call', 'function_call_output', 'reasoning']);
const itemTypes = new Set(['function_call', 'function_call_output', 'reasoning']);
const bodyMembers = ['content', 'parts', 'contents', 'tool_calls', 'toolCalls', 'function_call', 'data'];

function isMessage(value: Json): boolean {
  if (typeof value.type === 'string' && itemTypes.has(value.type)) return true;
  const body = bodyMembers.some((member) => value[member] !== undefined);
  if (typeof value.role === 'string') return body;
  if (isObject(value.kwargs)) return isConstructor(value);
  if (typeof value['event.name'] === 'string') return body;
  if (Array.isArray(value.parts)) return true;
  return typeof value.type === 'string' && messageTypes.has(value.type) && body;
}

/** LangChain's serialised object: its class path and what it was built with. */
function isConstructor(value: Json): boolean {
  return Array.isArray(value.id) && isObject(value.kwargs);
}

/** LangChain keeps a message's members below `kwargs` or `data`, the Responses API makes an item of each part. */
function lifted(message: Json): Json {
  const type = message.type;
  if (typeof type === 'string' && itemTypes.has(type)) return { role: type, content: [message] };
  const below = isConstructor(message) ? message.kwargs : typeof type === 'string' ? message.data : undefined;
  if (!isObject(below)) return message;
  const id = message.id;
  return { ...below, role: below.role ?? (Array.isArray(id) ? id.at(-1) : (below.type ?? type)) };
}

function roleOf(message: Json, defaultRole: string): string {
  const named = message.role ?? message.type;
  if (typeof named === 'string' && named !== '' && named !== 'message') return roles.get(named) ?? named;
  const event = /^gen_ai\.(\w+)\.message$/.exec(string(message['event.name']))?.[1];
  return event ?? defaultRole;
}

function answersTool(role: string, id: unknown, parts: readonly Part[]): boolean {
  return (role === 'tool' || id !== undefined) && parts.length > 0 && parts.every(({ type }) => type === 'text');
}

function asResponse(id: unknown, parts: readonly Part[]): Part {
  const texts = parts.map((part) => (part.type === 'text' ? part.content : ''));
  return toolResponsePart(id, texts.join('\n'));
}

function toolCalls(message: Json): Part[] {
  const calls = message.tool_calls ?? message.toolCalls;
  const found = Array.isArray(calls) ? calls : isObject(message.function_call) ? [message.function_call] : [];
  return found.map(toolCallPart).filter((part) => part !== undefined);
}

/** LangChain wraps a batch of one: `[[message]]`. */
function list(value: readonly unknown[]): readonly unknown[] {
  return value.length === 1 && Array.isArray(value[0]) ? value[0] : value;
}

/** Objects that hold messages, by the member that holds them. */
const wrappers: readonly (readonly [
  string,
  (held: unknown, whole: Json, role: string) => readonly unknown[] | undefined,
])[] = [
  ['messages', (held, whole) => (Array.isArray(held) ? withSystem(whole.system, list(held)) : undefined)],
  ['contents', (held, whole) => (Array.isArray(held) ? withSystem(instruction(whole.config), held) : undefined)],
  ['choices', (held) => (Array.isArray(held) ? held.map(choice) : undefined)],
  ['candidates', (held, _, role) => (Array.isArray(held) ? held.map((each) => candidate(each, role)) : undefined)],
  ['generations', (held) => (Array.isArray(held) ? list(held).map(generation) : undefined)],
  ['output', (held, whole) => (Array.isArray(held) && whole.object === 'response' ? held : undefined)],
  ['content', (held, _, role) => (isObject(held) && Array.isArray(held.parts) ? [{ role, ...held }] : undefined)],
  ['message', (held) => (isObject(held) ? [held] : undefined)],
  ['prompt', (held, whole) => (typeof held === 'string' ? prompted(whole.system, held) : undefined)],
];

function unwrapped(value: Json, role: string): readonly unknown[] | undefined {
  if (isMessage(value)) return [value];
  for (const [member, unwrap] of wrappers) {
    const found = value[member] === undefined ? undefined : unwrap(value[member], value, role);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withSystem(system: unknown, messages: readonly unknown[]): readonly unknown[] {
  return system === undefined || system === null || system === ''
    ? messages
    : [{ role: 'system', content: system }, ...messages];
}

function instruction(config: unknown): unknown {
  if (!isObject(config)) return undefined;
  const found = config.system_instruction ?? config.systemInstruction;
  return isObject(found) && Array.isArray(found.parts) ? found.parts : found;
}

function choice(each: unknown): unknown {
  if (!isObject(each) || !isObject(each.message)) return each;
  return { finish_reason: each.finish_reason, ...each.message };
}

function candidate(each: unknown, role: string): unknown {
  if (!isObject(each) || !isObject(each.content)) return each;
  return { role, finish_reason: each.finishReason ?? each.finish_reason, ...each.content };
}

function generation(each: unknown): unknown {
  if (!isObject(each)) return each;
  return isObject(each.message) ? each.message : { role: 'assistant', content: each.text };
}

/** The AI SDK's `{"system", "prompt"}`; without a system text the prompt alone is plain JSON, so it stays as it was. */
function prompted(system: unknown, prompt: string): readonly unknown[] {
  return withSystem(system, [{ role: 'user', content: prompt }]);
}
