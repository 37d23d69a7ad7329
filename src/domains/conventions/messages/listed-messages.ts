import type { AnyValue } from '../../../otlp/span.ts';
import type { Reading } from '../candidates.ts';
import { isObject, parsed } from '../read-value.ts';
import type { Message } from './message.ts';
import { isMessage } from './recognize-message.ts';
import { shapeMessage, shapeMessages } from './shape-messages.ts';
import { newest } from './system-messages.ts';

/** Members of a message that are no content. */
const bareMembers = new Set(['role', 'name', 'index', 'finish_reason']);

/**
 * Returns the messages of a list that one event carries, without those whose content was not
 * captured. A value that is no list of messages is kept as the text of one message.
 */
export function listed(value: AnyValue, role: string, reading: Reading): readonly Message[] {
  const json = parsed(value, reading);
  const list = Array.isArray(json) ? newest(json.filter(isCaptured), reading) : json;
  const shaped = shapeMessages(list, role, reading);
  if (shaped !== undefined) return shaped.filter(({ parts }) => parts.length > 0);
  const text = typeof value === 'string' ? value : isObject(json) || Array.isArray(json) ? JSON.stringify(json) : '';
  return text === '' || isWithoutContent(list, role, reading)
    ? []
    : [{ role, parts: [{ type: 'text', content: text }] }];
}

function isCaptured(each: unknown): boolean {
  return !isObject(each) || !Object.entries(each).every(([name, value]) => value === null || bareMembers.has(name));
}

function isWithoutContent(sent: unknown, role: string, reading: Reading): boolean {
  const list: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
  return list.filter(isCaptured).every((each) => isEmptyMessage(each, role, reading));
}

function isEmptyMessage(each: unknown, role: string, reading: Reading): boolean {
  return isObject(each) && isMessage(each) && shapeMessage(each, role, reading).parts.length === 0;
}
