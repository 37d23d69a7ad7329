import { z } from 'zod';
import { MalformedError } from '../lib/errors.ts';
import { isStorableText } from '../lib/storable-text.ts';

/** Query parameters as decoded from the URL; a list when a name is repeated. */
export type QueryValues = Readonly<Record<string, string | string[]>>;

/**
 * Decodes a query string strictly: input that `URLSearchParams` would repair silently is an error.
 * @throws MalformedError `invalid_parameter` for bad percent-encoding, NUL characters or too many
 * parameters
 */
export function parseQueryString(search: string): QueryValues {
  if (search === '') return noValues;
  const values: Record<string, string | string[]> = Object.create(null);
  const pairs = search.replace(/^\?/, '').split('&').filter(Boolean);
  if (pairs.length > pairsMax) {
    throw new MalformedError('invalid_parameter', `The query has ${pairs.length} parameters; the limit is ${pairsMax}`);
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

/**
 * Accepts a whole number written as digits. Refuses `1e3`, `0x10`, spaces and the empty string,
 * unlike `z.coerce`.
 */
export function integerParam({ min, max }: { min: number; max: number }) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(
    (text) => (typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : text),
    z.int({ error }).min(min, { error }).max(max, { error }),
  );
}

/** Accepts a number of at least 0, written as digits with at most six decimals. */
export function decimalParam({ max }: { max: number }) {
  const error = `must be a number from 0 to ${max} with at most six decimals`;
  return z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(text) ? Number(text) : text),
    z.number({ error }).min(0, { error }).max(max, { error }),
  );
}

/** Accepts only `true` or `false`. */
export function booleanParam() {
  return z.preprocess((text) => (text === 'true' ? true : text === 'false' ? false : text), z.boolean());
}

/** Accepts names with commas between them, in at most 1,000 characters. */
export function listParam() {
  return z
    .string()
    .max(listCharsMax)
    .transform((text) => text.split(','));
}

/** Accepts a parameter that may be repeated. The handler always gets a list. */
export function repeatedParam<S extends z.ZodType>(item: S) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item));
}

/**
 * Accepts all parameters whose names begin with the key of this schema, which is a word and a dot:
 * `attr.` accepts every `attr.<key>=value`. The handler gets a record by key.
 */
export function prefixedParams<S extends z.ZodType>(item: S) {
  return z.record(z.string().min(1).max(prefixedNameMax), item).optional();
}

/** Returns whether a key of a query schema represents {@link prefixedParams}. */
export const isPrefix = (name: string) => name.endsWith('.');

/**
 * Groups all parameters with the same prefix under that prefix, in the shape that the schema
 * expects.
 */
export function gatherPrefixed(names: readonly string[], query: QueryValues): Readonly<Record<string, unknown>> {
  const prefixes = names.filter(isPrefix);
  const gathered: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(query)) {
    // zod drops `__proto__` from records silently, so it is kept apart and reported as an unknown
    // parameter.
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
/** The names of every list that exists have less than half of these characters. */
const listCharsMax = 1_000;

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
