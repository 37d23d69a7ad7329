import { z } from 'zod';
import { MalformedError } from '../lib/errors.ts';
import { isStorableText } from './json-walk.ts';
import type { QueryValues } from './validate.ts';

/**
 * Decodes a query string strictly: what `URLSearchParams` would silently mend is a fault.
 * @throws MalformedError `invalid_parameter` for bad percent-encoding, NUL characters or too many parameters
 */
export function parseQueryString(search: string): QueryValues {
  const values: Record<string, string | string[]> = Object.create(null);
  const pairs = search.replace(/^\?/, '').split('&').filter(Boolean);
  if (pairs.length > pairsMax) {
    throw new MalformedError('invalid_parameter', `${pairs.length} query parameters; the limit is ${pairsMax}`);
  }
  for (const pair of pairs) {
    const [name = '', ...rest] = pair.split('=');
    const key = decode(name, name);
    const value = decode(rest.join('='), key);
    const before = values[key];
    values[key] = before === undefined ? value : [before, value].flat();
  }
  return values;
}

/** A whole number written as digits; `1e3`, `0x10`, blanks and the empty string are faults, unlike with `z.coerce`. */
export function integerParam({ min, max }: { min: number; max: number }) {
  return z.preprocess(
    (text) => (typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : text),
    z.int().min(min).max(max),
  );
}

/** `true` or `false`, nothing else. */
export function booleanParam() {
  return z.preprocess((text) => (text === 'true' ? true : text === 'false' ? false : text), z.boolean());
}

/** A parameter that may be repeated; always a list for the handler. */
export function repeatedParam<S extends z.ZodType>(item: S) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item));
}

const pairsMax = 200;

function decode(text: string, name: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new MalformedError('invalid_parameter', `${name}: ${text.slice(0, 80)} is not valid percent-encoded UTF-8`);
  }
  if (isStorableText(decoded)) return decoded;
  throw new MalformedError('invalid_parameter', `${name}: NUL characters are not allowed`);
}
