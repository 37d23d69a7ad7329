import type { LogRecord } from '../../../otlp/log-record.ts';
import type { AnyValue, Attributes, SpanEvent } from '../../../otlp/span.ts';
import type { Reading } from '../candidates.ts';
import { TARGET_KEY } from '../evaluations.ts';
import { PACKED_BODY } from '../messages/event-message.ts';
import { eventReading, isObject, parsed } from '../read-value.ts';
import { recordMeaning } from './record-meaning.ts';

/** Members that carry content. A text in the body is content only where none of them is sent. */
const contentMembers = [
  ...['content', 'parts', 'contents', 'message', 'tool_calls', 'toolCalls', 'function_call'],
  ...['gen_ai.prompt', 'gen_ai.completion', PACKED_BODY],
];
/** Members of a body by which it is that of a message or of a choice, even without content. */
const bodyMembers = new Set([...contentMembers, 'role', 'name', 'id', 'type', 'index', 'finish_reason']);

/**
 * Returns a log record as the span event that it would be, or undefined when its event name means
 * nothing. The members of its body become attributes; JSON text in the body becomes
 * `gen_ai.event.content`. Empty values count as absent.
 */
export function recordEvent(record: LogRecord, reading: Reading): SpanEvent | undefined {
  const meaning = recordMeaning(record.eventName);
  if (meaning === undefined) return undefined;
  const attributes: Attributes = new Map();
  addPresent(attributes, record.attributes);
  // The name that counts is the record's. This attribute would be read as a role.
  attributes.delete('event.name');
  if (meaning.is === 'evaluation' && record.spanId === '') attributes.set(TARGET_KEY, 'trace');
  addBody(attributes, record, meaning.textMember, reading);
  return { name: record.eventName, timeUnixNano: record.timeUnixNano, attributes, droppedAttributesCount: 0 };
}

function addBody(to: Attributes, record: LogRecord, textMember: string, reading: Reading): void {
  const { body } = record;
  if (body instanceof Map) addPresent(to, body);
  const isWhole = body instanceof Map && body.size > 0 && isUnknown([...body.keys()]);
  if (textMember === '' || (body instanceof Map && !isWhole) || contentMembers.some((name) => to.has(name))) return;
  const [member, value] = contentOf(record, textMember, eventReading(reading, to));
  if (value !== null) to.set(member, value);
}

/** Returns a body that is no key-value list of a message as a member of the event. */
function contentOf(
  { body, eventName, attributes }: LogRecord,
  textMember: string,
  reading: Reading,
): [string, AnyValue] {
  if (body instanceof Uint8Array) return [textMember, [blob(body)]];
  if (typeof body !== 'string') return [textMember, typeof body === 'object' ? body : String(body)];
  if (body === '' || body === eventName || body === attributes.get('event.name')) return [textMember, null];
  const json = parsed(body, reading);
  if (typeof json === 'string') return [textMember, json];
  const members = isObject(json) ? Object.keys(json) : undefined;
  if (members?.length === 0) return [textMember, null];
  return [members === undefined || isUnknown(members) ? textMember : PACKED_BODY, body];
}

function isUnknown(members: readonly string[]): boolean {
  return !members.some((name) => bodyMembers.has(name));
}

function addPresent(to: Attributes, from: Attributes): void {
  for (const [key, value] of from) if (value !== null) to.set(key, value instanceof Uint8Array ? [blob(value)] : value);
}

/** Bytes are a part of a message, as the conventions name it. */
function blob(content: Uint8Array): Attributes {
  return new Map<string, AnyValue>([
    ['type', 'blob'],
    ['content', content],
  ]);
}
