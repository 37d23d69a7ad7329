import type { AnyValue } from '../../../otlp/span.ts';
import { type Reader, type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { cut, isObject, parsed, plain } from '../read-value.ts';
import type { Content, Message } from './message.ts';
import { isInOurShape } from './recognize-message.ts';
import { shapeMessages, systemMessage } from './shape-messages.ts';

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

/**
 * Returns messages as JSON to store. If that is too long, returns the raw text, or without one the
 * first messages that fit.
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
 * separately, first.
 */
export function withSystemInstructions(value: AnyValue, reading: Reading): Content | undefined {
  const read = content('user')(value, reading);
  const system = instructions(reading);
  if (read === undefined || system === undefined) return read;
  const said = read.messages ?? [{ role: 'user', parts: [{ type: 'text' as const, content: read.text }] }];
  return ofMessages([system, ...said], reading) ?? read;
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
  const kept: Message[] = [];
  for (const message of messages) {
    left -= JSON.stringify(message).length + 1;
    if (left < 0) break;
    kept.push(message);
  }
  return kept;
}
