import { InvalidError, MalformedError } from '../lib/errors.ts';
import { formatPath, quote } from './faults.ts';

/** Nesting of JSON bodies (R-LIM-3); engines and `JSON.stringify` recurse, so this is checked before anything else. */
export const jsonDepthMax = 64;

/** Text no engine of ours can store: NUL (Postgres refuses it) and lone surrogates (not encodable as UTF-8). */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** JSON forbids raw NUL in strings and UTF-8 forbids surrogates, so both need an escape. */
const escapesUnstorable = /\\u(?:0000|d[89a-f])/i;

/**
 * Refuses parsed JSON that is nested over `jsonDepthMax` (`json_too_deep`), holds unstorable text in a value
 * or a key, or a number that only infinity is near to (`invalid_body`). It recurses, but never deeper than the bound, so a million levels cost no stack.
 * @param source the JSON itself: unless it escapes such text, none can be in it, and strings need no look
 * @param at where `root` is in the body
 */
export function checkJson(root: unknown, source: string, at: readonly (string | number)[] = []): void {
  const looksAtText = escapesUnstorable.test(source);
  const path: (string | number)[] = [...at];

  function visit(value: unknown): void {
    if (typeof value === 'string') {
      if (looksAtText && !isStorableText(value)) throw unstorableText(value, path);
    } else if (isInfinite(value)) {
      throw invalidAt(path, 'number_out_of_range', numberOutOfRange);
    } else if (typeof value === 'object' && value !== null) {
      if (path.length >= jsonDepthMax) throw tooDeep();
      visitChildren(value);
    }
  }
  function visitAt(key: string | number, child: unknown): void {
    // Bodies are mostly leaves; only what can be at fault is worth a path.
    const mayBeAtFault = typeof child === 'string' ? looksAtText : typeof child === 'object' || isInfinite(child);
    if (!mayBeAtFault) return;
    path.push(key);
    visit(child);
    path.pop();
  }
  function visitChildren(container: object): void {
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length; index++) visitAt(index, container[index]);
      return;
    }
    for (const key of Object.keys(container)) {
      if (looksAtText && !isStorableText(key)) throw unstorableText(key, [...path, key]);
      visitAt(key, Reflect.get(container, key));
    }
  }
  visit(root);
}

export function tooDeep(): MalformedError {
  return new MalformedError('json_too_deep', `The body is nested more than ${jsonDepthMax} levels deep`);
}

/** What `JSON.parse` makes of 1e400, and `JSON.stringify` of that null. */
function isInfinite(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

const numberOutOfRange = 'Numbers are 64-bit floating point, from -1.7976931348623157e308 to 1.7976931348623157e308';

function unstorableText(text: string, at: readonly (string | number)[]): InvalidError {
  return invalidAt(at, 'unstorable_text', `NUL characters and lone surrogates cannot be stored; given ${quote(text)}`);
}

function invalidAt(at: readonly (string | number)[], code: string, message: string): InvalidError {
  const path = formatPath(at);
  return new InvalidError('invalid_body', `${path || 'body'}: ${message}`, { errors: [{ path, code, message }] });
}
