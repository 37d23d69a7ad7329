import { isDeepStrictEqual } from 'node:util';
import { diffText } from './diff-text.ts';
import { isObject } from './schema/schema-paths.ts';

/** One field that differs. null means an absent field. */
export interface ContentChange {
  /** Path of the field: `config.params.temperature` or `messages[1].content`. */
  field: string;
  from: unknown;
  to: unknown;
}

export interface ContentDiff {
  changes: ContentChange[];
  /** Unified diff of the template or the messages. */
  text: string;
}

const changesMax = 500;
/** Characters of the fields of all changes. A key of a config can be long. */
const fieldCharsMax = 262_144;
const depthMax = 8;

/**
 * Compares the contents of two versions. Objects and `messages` are compared field by field; other
 * lists and values are compared whole.
 */
export function diffContent(
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): ContentDiff {
  const found: Found = { changes: [], fieldChars: 0 };
  compare('', from, to, found, 0);
  return { changes: found.changes, text: diffText(textOf(from), textOf(to)) };
}

interface Found {
  changes: ContentChange[];
  fieldChars: number;
}

function compare(field: string, from: unknown, to: unknown, into: Found, depth: number): void {
  if (
    into.changes.length >= changesMax ||
    into.fieldChars + field.length > fieldCharsMax ||
    isDeepStrictEqual(from, to)
  )
    return;
  if (depth < depthMax && isObject(from) && isObject(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      compare(field === '' ? key : `${field}.${key}`, ownOf(from, key), ownOf(to, key), into, depth + 1);
    }
  } else if (field === 'messages' && Array.isArray(from) && Array.isArray(to)) {
    for (let index = 0; index < Math.max(from.length, to.length); index++) {
      compare(`messages[${index}]`, from[index], to[index], into, depth + 1);
    }
  } else {
    into.fieldChars += field.length;
    into.changes.push({ field, from: from ?? null, to: to ?? null });
  }
}

const ownOf = (value: Record<string, unknown>, key: string) => (Object.hasOwn(value, key) ? value[key] : undefined);

/** Returns the text of a prompt for the diff: the template, or each message below its role. */
function textOf({ template, messages }: Readonly<Record<string, unknown>>): string {
  if (typeof template === 'string') return template;
  if (!Array.isArray(messages)) return '';
  return messages
    .map((message: unknown) => {
      if (!isObject(message)) return '';
      return 'placeholder' in message ? `[${message.placeholder}]` : `[${message.role}]\n${message.content}`;
    })
    .join('\n\n');
}
