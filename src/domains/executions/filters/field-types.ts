import { parseUsd } from '../../../lib/money.ts';
import { unixNanoFromDate } from '../../../lib/time.ts';
import type { BoundValue, Operator } from './operators.ts';
import { promptUsed } from './prompt-used.ts';

/**
 * SQL tests of a column `x`, from which the operators are built. `v` is a bound value, or a bound
 * array for `oneOf`.
 */
export interface FieldTests {
  oneOf: FieldTest;
  present: FieldTest;
  gt?: FieldTest;
  gte?: FieldTest;
  lt?: FieldTest;
  lte?: FieldTest;
  contains?: FieldTest;
  startsWith?: FieldTest;
}

/** `values` are the values bound as `v`, for tests that depend on them. */
export type FieldTest = (x: string, v: string, values: readonly BoundValue[]) => string;

export interface FieldType {
  /** Completes the message "must be ...". */
  expects: string;
  /** ClickHouse type of a bound value. */
  clickhouseType: string;
  /** Converts a JSON value to the value to bind; undefined when it does not have this type. */
  read: (value: unknown) => BoundValue | undefined;
  /** Converts the text of a query parameter to a JSON value. */
  fromText: (text: string) => unknown;
  tests: FieldTests;
}

/** The test of each operator, and whether its result is negated. */
export const operatorTests: Readonly<Record<Operator, { test: keyof FieldTests; negated: boolean }>> = {
  eq: { test: 'oneOf', negated: false },
  ne: { test: 'oneOf', negated: true },
  in: { test: 'oneOf', negated: false },
  nin: { test: 'oneOf', negated: true },
  exists: { test: 'present', negated: false },
  gt: { test: 'gt', negated: false },
  gte: { test: 'gte', negated: false },
  lt: { test: 'lt', negated: false },
  lte: { test: 'lte', negated: false },
  contains: { test: 'contains', negated: false },
  starts_with: { test: 'startsWith', negated: false },
};

/** Returns the operators that a type with these tests supports. */
export function operatorsOf(tests: FieldTests): Operator[] {
  const known = Object.keys(operatorTests) as Operator[];
  return known.filter((op) => tests[operatorTests[op].test] !== undefined);
}

const oneOf = (x: string, vs: string) => `${x} IN ${vs}`;
const always = () => 'true';
const asText = (text: string): unknown => text;
const textMax = 1_000;

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= textMax ? value : undefined;
}

const order = {
  gt: (x: string, v: string) => `${x} > ${v}`,
  gte: (x: string, v: string) => `${x} >= ${v}`,
  lt: (x: string, v: string) => `${x} < ${v}`,
  lte: (x: string, v: string) => `${x} <= ${v}`,
};

/** A text column. A missing text is stored as ''. */
export const text: FieldType = {
  expects: `a text of 1 to ${textMax} characters`,
  clickhouseType: 'String',
  read: readText,
  fromText: asText,
  tests: {
    oneOf,
    present: (x) => `notEmpty(${x})`,
    contains: (x, v) => `position(${x}, ${v}) > 0`,
    startsWith: (x, v) => `startsWith(${x}, ${v})`,
  },
};

/** A list of texts. A test is true when it is true for one of them. */
export const texts: FieldType = {
  ...text,
  tests: {
    oneOf: (x, vs) => `hasAny(${x}, ${vs})`,
    present: (x) => `notEmpty(${x})`,
    contains: (x, v) => `arrayExists(item -> position(item, ${v}) > 0, ${x})`,
    startsWith: (x, v) => `arrayExists(item -> startsWith(item, ${v}), ${x})`,
  },
};

export const hexId: FieldType = {
  expects: '32 hexadecimal digits',
  clickhouseType: 'String',
  read: (value) => (typeof value === 'string' && /^[0-9a-f]{32}$/i.test(value) ? value.toLowerCase() : undefined),
  fromText: asText,
  tests: { oneOf, present: always },
};

/** Returns the type of a column that holds one of these words. */
export function choice(words: readonly string[]): FieldType {
  return {
    expects: `one of ${words.join(', ')}`,
    clickhouseType: 'String',
    read: (value) => words.find((word) => word === value),
    fromText: asText,
    tests: { oneOf, present: always },
  };
}

export const flag: FieldType = {
  expects: 'true or false',
  clickhouseType: 'Bool',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  fromText: (given) => ({ true: true, false: false })[given] ?? given,
  tests: { oneOf, present: always },
};

const decimal = /^\d{1,15}(\.\d{1,15})?$/;
const numberFromText = (given: string): unknown => (decimal.test(given) ? Number(given) : given);

export const count: FieldType = {
  expects: 'a whole number of at least 0',
  clickhouseType: 'Int64',
  read: (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined),
  fromText: numberFromText,
  tests: { oneOf, present: always, ...order },
};

const msMax = 1e15;
/** The longest duration that two 64-bit times can have. */
const durationNanoMax = 2n ** 64n - 1n;

/** A filter has milliseconds; the column has nanoseconds. */
export const duration: FieldType = {
  expects: `a number of milliseconds, 0 to ${msMax}`,
  clickhouseType: 'UInt64',
  read: (value) => (typeof value === 'number' && value >= 0 && value <= msMax ? nanoOf(value) : undefined),
  fromText: numberFromText,
  tests: count.tests,
};

function nanoOf(ms: number): bigint {
  const nano = BigInt(Math.round(ms * 1e6));
  return nano < durationNanoMax ? nano : durationNanoMax;
}

/** A filter has USD; the column has nano-USD or null. */
export const money: FieldType = {
  expects: 'an amount of US dollars, a decimal of at least 0 with at most 9 decimals',
  clickhouseType: 'Int64',
  read: parseUsd,
  fromText: asText,
  tests: { oneOf, present: (x) => `isNotNull(${x})`, ...order },
};

/** A filter has a time in RFC 3339; the column has nanoseconds since the epoch. */
export const time: FieldType = {
  expects: 'a time in RFC 3339, such as 2026-01-31T12:00:00Z',
  clickhouseType: 'UInt64',
  read: (value) =>
    typeof value === 'string' && rfc3339.test(value) && !Number.isNaN(Date.parse(value))
      ? unixNanoFromDate(new Date(value))
      : undefined,
  fromText: asText,
  tests: count.tests,
};

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

export const promptId: FieldType = {
  ...text,
  tests: {
    oneOf: (_, vs) => promptUsed({ ids: vs }),
    present: () => `arrayExists(prompt -> prompt.id != '', prompts)`,
  },
};

export const promptVersion: FieldType = {
  ...count,
  tests: {
    oneOf: (_, vs) => promptUsed({ versions: vs }),
    present: () => 'arrayExists(prompt -> prompt.version > 0, prompts)',
  },
};
