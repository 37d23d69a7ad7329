import type { AnyValue } from '../../../otlp/span.ts';
import { type Reader, type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { cut, isObject, parsed, plain } from '../read-value.ts';
import type { Content, Message } from './message.ts';
import { isInOurShape } from './recognize-message.ts';
import { shapeMessages, systemMessage } from './shape-messages.ts';
import { isSystem, systemCount, withSystemFirst } from './system-messages.ts';

/**
 * Returns a reader that gives an attribute as messages if it contains messages, and unchanged
 * otherwise. `{}`, `[]` and similar values count as absent.
 */
export function content(role: string): Reader<Content> {
  return (value, reading) => {
    const raw = rawText(value, reading);
    const json = parsed(value, reading);
    if (raw === '' || isNothing(json)) return undefined;
    if (raw === value && isInOurShape(json)) return { text: raw, messages: json };
    const messages = json === undefined ? undefined : shapeMessages(json, role, reading);
    return messages === undefined ? { text: raw, messages: null } : ofMessages(messages, reading, raw);
  };
}

/**
 * Returns an attribute unchanged. Tool arguments and results are data even when they look like a
 * message.
 */
export function data(value: AnyValue, reading: Reading): Content | undefined {
  const raw = rawText(value, reading);
  return raw === '' || isNothing(parsed(value, reading)) ? undefined : { text: raw, messages: null };
}

/** Returns an attribute unchanged. Here `{}` and `[]` are values too. */
export function asSent(value: AnyValue, reading: Reading): Content | undefined {
  const raw = rawText(value, reading);
  return raw === '' ? undefined : { text: raw, messages: null };
}

/**
 * Wraps a reader for attributes whose text is always JSON, alone or in a list. A JSON string is
 * read without its quotes.
 */
export function ofJsonText(read: Reader<Content>): Reader<Content> {
  return (value, reading) => {
    if (Array.isArray(value)) return read(`[${value.map((each) => jsonText(each, reading)).join()}]`, reading);
    const json = typeof value === 'string' ? parsed(value, reading) : undefined;
    return read(typeof json === 'string' ? json : value, reading);
  };
}

/** Reads `gen_ai.output.messages`. A model says nothing as the system, so that role means assistant. */
export function answers(value: AnyValue, reading: Reading): Content | undefined {
  const read = content('assistant')(value, reading);
  if (!read?.messages?.some(isSystem)) return read;
  return ofMessages(saidByAssistant(read.messages), reading, read.text);
}

/** Returns output messages with the role assistant in place of the role system (Gemini CLI). */
export function saidByAssistant(messages: readonly Message[]): readonly Message[] {
  return messages.map((each) => (isSystem(each) ? { ...each, role: 'assistant' } : each));
}

/**
 * Returns messages as JSON to store. If that is too long, returns the raw text, or without one the
 * system messages at the beginning and the newest others that fit.
 */
export function ofMessages(messages: readonly Message[], reading: Reading, raw?: string): Content | undefined {
  if (messages.length === 0) return undefined;
  const text = JSON.stringify(messages);
  if (text.length <= limits.textCharsMax) return { text, messages };
  if (raw !== undefined) return { text: raw, messages: null };
  warn(reading, 'messages_truncated');
  const kept = fitting(messages);
  return kept.length === 0
    ? { text: cut(text, limits.textCharsMax), messages: null }
    : { text: JSON.stringify(kept), messages: kept };
}

/**
 * Reads `gen_ai.input.messages`. Puts `gen_ai.system_instructions`, which the convention sends
 * separately, first, unless the messages begin with them.
 */
export function withSystemInstructions(value: AnyValue, reading: Reading): Content | undefined {
  const read = content('user')(value, reading);
  const system = instructions(reading);
  if (read === undefined || system === undefined) return read;
  const all = withSystemFirst([system], messagesOf(read));
  return all === read.messages ? read : (ofMessages(all, reading) ?? read);
}

/** Returns the messages of an input. A text that is no messages is one message of the user. */
export function messagesOf({ messages, text }: Content): readonly Message[] {
  return messages ?? [{ role: 'user', parts: [{ type: 'text', content: text }] }];
}

/** Reads the instructions alone, for clients that do not send messages. */
export function instructionsOnly(_value: AnyValue, reading: Reading): Content | undefined {
  const system = instructions(reading);
  return system === undefined ? undefined : ofMessages([system], reading);
}

function instructions(reading: Reading): Message | undefined {
  const value = reading.span.attributes.get('gen_ai.system_instructions');
  return value === undefined ? undefined : systemMessage(parsed(value, reading) ?? value, reading);
}

/** Returns the value as text; a structure becomes JSON. */
function rawText(value: AnyValue, reading: Reading): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(parsed(value, reading)) : String(value);
  if (text === undefined) return '';
  if (text.length <= limits.textCharsMax) return text;
  warn(reading, 'text_truncated');
  return cut(text, limits.textCharsMax);
}

function jsonText(value: AnyValue, reading: Reading): string {
  const isJson = typeof value === 'string' && parsed(value, reading) !== undefined;
  return isJson ? value : JSON.stringify(plain(value));
}

function isNothing(json: unknown): boolean {
  if (Array.isArray(json)) return json.length === 0;
  return json === '' || json === null || (isObject(json) && Object.keys(json).length === 0);
}

function fitting(messages: readonly Message[]): Message[] {
  let left = limits.textCharsMax - 2;
  const fits = (message: Message) => {
    left -= JSON.stringify(message).length + 1;
    return left >= 0;
  };
  const count = systemCount(messages);
  const system = whileTrue(messages.slice(0, count), fits);
  return left < 0 ? system : [...system, ...whileTrue(messages.slice(count).reverse(), fits).reverse()];
}

function whileTrue<T>(list: readonly T[], holds: (each: T) => boolean): T[] {
  const end = list.findIndex((each) => !holds(each));
  return list.slice(0, end === -1 ? list.length : end);
}
