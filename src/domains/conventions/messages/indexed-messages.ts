import type { AnyValue } from '../../../otlp/span.ts';
import { isBelow, type Reader, type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { isObject, plain } from '../read-value.ts';
import { ofMessages } from './content.ts';
import type { Content } from './message.ts';
import { embeddedParts, shapeMessage } from './shape-messages.ts';

/** Maximum depth of a flattened key below a message's number. Real keys need 5. */
const segmentsMax = 10;

/** A tree of flattened keys. `0.message.role` is a leaf on the third level. */
interface Branch {
  value: AnyValue;
  children: Map<string, Branch>;
}

/**
 * Returns a reader for messages that are flattened into one attribute for each leaf:
 * OpenInference's `llm.input_messages.0.message.content`, Traceloop's older
 * `gen_ai.prompt.0.content`.
 */
export function flattened(prefix: string, role: string): Reader<Content> {
  return (_value, reading) => {
    const root = treeOf(prefix, reading);
    const entries = [...root.children].filter(([index]) => isIndex(index, reading));
    entries.sort(([a], [b]) => Number(a) - Number(b));
    const messages = entries.map(([, branch]) => toMessage(unflattened(branch), role, reading));
    return ofMessages(
      messages.filter(({ parts }) => parts.length > 0),
      reading,
    );
  };
}

function treeOf(prefix: string, { span, familyKeys }: Reading): Branch {
  const root: Branch = { value: null, children: new Map() };
  for (const key of familyKeys) {
    if (!isBelow(key, prefix)) continue;
    const value = span.attributes.get(key) ?? null;
    const path = key.slice(prefix.length).split('.', segmentsMax + 1);
    if (path.length <= segmentsMax) plant(root, path, value);
  }
  return root;
}

function plant(root: Branch, path: readonly string[], value: AnyValue): void {
  let at = root;
  for (const segment of path) {
    let next = at.children.get(segment);
    if (next === undefined) {
      next = { value: null, children: new Map() };
      at.children.set(segment, next);
    }
    at = next;
  }
  at.value = value;
}

/** Converts a tree to JSON. Recurses at most `segmentsMax` levels. */
function unflattened({ value, children }: Branch): unknown {
  if (children.size === 0) return plain(value);
  const entries = Array.from(children, ([key, child]): [string, unknown] => [key, unflattened(child)]);
  if (entries.every(([key]) => /^\d{1,4}$/.test(key))) {
    return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, each]) => each);
  }
  return Object.fromEntries(entries);
}

function toMessage(flat: unknown, role: string, reading: Reading) {
  const inner = isObject(flat) && isObject(flat.message) ? flat.message : flat;
  if (!isObject(inner)) return { role, parts: [] };
  const { contents, tool_calls: calls, ...rest } = inner;
  return shapeMessage(
    {
      ...rest,
      content: Array.isArray(contents)
        ? contents.map((each) => held(each, 'message_content'))
        : embeddedParts(rest.content, reading),
      ...(Array.isArray(calls) && { tool_calls: calls.map((each) => held(each, 'tool_call')) }),
    },
    role,
    reading,
  );
}

/**
 * Removes the names that OpenInference adds on every level: `contents.0.message_content`,
 * `tool_calls.0.tool_call`, `image.image.url`.
 */
function held(each: unknown, name: string): unknown {
  const inner = isObject(each) && isObject(each[name]) ? each[name] : each;
  const image = isObject(inner) && isObject(inner.image) ? inner.image.image : undefined;
  return isObject(inner) && image !== undefined ? { ...inner, source: image } : inner;
}

function isIndex(index: string, reading: Reading): boolean {
  if (!/^\d+$/.test(index)) return false;
  if (Number(index) < limits.messagesMax) return true;
  warn(reading, 'messages_truncated');
  return false;
}
