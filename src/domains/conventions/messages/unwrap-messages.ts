import { isObject } from '../read-value.ts';
import { isMessage, type Json } from './recognize-message.ts';

/** Returns the inner list of LangChain's batch of one: `[[message]]`. */
export function list(value: readonly unknown[]): readonly unknown[] {
  return value.length === 1 && Array.isArray(value[0]) ? value[0] : value;
}

/** Members of objects that hold messages, and how to read each. */
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
  ['prompt', (held, whole) => (typeof held === 'string' && isPrompt(whole) ? prompted(whole.system, held) : undefined)],
];

/** Returns the messages that an object holds, or undefined when it holds none. */
export function unwrapped(value: Json, role: string): readonly unknown[] | undefined {
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

/**
 * Returns whether the object is the AI SDK's `{"system", "prompt"}`. An object with other members
 * is the caller's own structure.
 */
function isPrompt(whole: Json): boolean {
  return Object.keys(whole).every((member) => member === 'prompt' || member === 'system');
}

function prompted(system: unknown, prompt: string): readonly unknown[] {
  return withSystem(system, [{ role: 'user', content: prompt }]);
}
