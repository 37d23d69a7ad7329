import { InvalidError, MalformedError } from '../lib/errors.ts';
import { isStorableText } from '../lib/storable-text.ts';
import { formatPath, quote } from './faults.ts';

/**
 * Maximum nesting of JSON bodies. Databases and `JSON.stringify` recurse, so this is checked before
 * anything else.
 */
export const jsonDepthMax = 64;

/**
 * JSON forbids raw NUL in strings and UTF-8 forbids surrogates, so both can occur only as an
 * escape.
 */
const escapesUnstorable = /\\u(?:0000|d[89a-f])/i;

/**
 * Checks parsed JSON. The check recurses, but never deeper than `jsonDepthMax`, so a million levels
 * do not exhaust the stack.
 * @param source the JSON text; when it has no escape for unstorable text, strings are not checked
 * @param at where `root` is in the body
 * @throws MalformedError `json_too_deep` for nesting over `jsonDepthMax`
 * @throws InvalidError `invalid_body` for unstorable text in a value or a key, or for a number
 * beyond the range of a double
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
    // Most values in a body are leaves, and a path is needed only for values that can be faulty.
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

/** Returns the error for JSON that is nested over `jsonDepthMax`. */
export function tooDeep(): MalformedError {
  return new MalformedError('json_too_deep', `The body is nested more than ${jsonDepthMax} levels deep`);
}

/**
 * Returns whether a number is infinite: `JSON.parse` turns 1e400 into infinity, and
 * `JSON.stringify` turns infinity into null.
 */
function isInfinite(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

const numberOutOfRange =
  'Numbers must be 64-bit floating point, from -1.7976931348623157e308 to 1.7976931348623157e308';

function unstorableText(text: string, at: readonly (string | number)[]): InvalidError {
  return invalidAt(at, 'unstorable_text', `NUL characters and lone surrogates cannot be stored; given ${quote(text)}`);
}

function invalidAt(at: readonly (string | number)[], code: string, message: string): InvalidError {
  const path = formatPath(at);
  return new InvalidError('invalid_body', `${path || 'body'}: ${message}`, { errors: [{ path, code, message }] });
}
