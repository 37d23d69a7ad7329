import { z } from 'zod';
import { MalformedError } from '../lib/errors.ts';
import { isStorableText } from './json-walk.ts';

/** Query parameters as decoded from the URL; a list when a name was repeated. */
export type QueryValues = Readonly<Record<string, string | string[]>>;

/**
 * Decodes a query string strictly: what `URLSearchParams` would silently mend is a fault.
 * @throws MalformedError `invalid_parameter` for bad percent-encoding, NUL characters or too many parameters
 */
export function parseQueryString(search: string): QueryValues {
  if (search === '') return noValues;
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
  const error = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(
    (text) => (typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : text),
    z.int({ error }).min(min, { error }).max(max, { error }),
  );
}

/** A number written as digits with at most six decimals, at least 0. */
export function decimalParam({ max }: { max: number }) {
  const error = `must be a number from 0 to ${max} with at most six decimals`;
  return z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(text) ? Number(text) : text),
    z.number({ error }).min(0, { error }).max(max, { error }),
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

/**
 * Parameters whose names begin with the key that this has in its schema, a word and a dot: `attr.` takes every `attr.<key>=value`, and
 * the handler gets a record by key.
 */
export function prefixedParams<S extends z.ZodType>(item: S) {
  return z.record(z.string().min(1).max(prefixedNameMax), item).optional();
}

/** Whether a key of a query schema stands for {@link prefixedParams}. */
export const isPrefix = (name: string) => name.endsWith('.');

/** The values with all parameters of one prefix under it, as its schema takes them. */
export function gatherPrefixed(names: readonly string[], query: QueryValues): Readonly<Record<string, unknown>> {
  const prefixes = names.filter(isPrefix);
  const gathered: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(query)) {
    // zod leaves `__proto__` out of records without a word; here it stays an unknown parameter.
    const prefix = prefixes.find((known) => name.startsWith(known) && name !== `${known}__proto__`);
    if (prefix === undefined) gathered[name] = value;
    else
      gathered[prefix] = Object.assign(gathered[prefix] ?? Object.create(null), { [name.slice(prefix.length)]: value });
  }
  return gathered;
}

const noValues: QueryValues = Object.freeze(Object.create(null));
const pairsMax = 200;
const prefixedNameMax = 200;

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
