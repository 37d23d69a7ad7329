import type { FieldType } from './field-types.ts';

const textMax = 10_000;

/**
 * Limits in bytes of the value as text. The hash of a value up to the limit is in
 * `short_attribute_hashes`, of a longer one in `long_attribute_hashes`. The migration
 * `create_spans` uses the same limits.
 */
const shortBytesMax = 20;
const shortDoubleBytesMax = 6;

/** The beginning of the text that ClickHouse's `toString` writes for a number. */
const numeric = /^-?(\d|inf|nan)/;

/**
 * A scalar attribute of any OTLP type. Equality compares texts, order compares numbers. The tests
 * get the bound key as `x` and run over `spans`. Only `oneOf` uses indexes; the other tests read
 * the attribute columns.
 */
export const attribute: FieldType = {
  expects: `a text of at most ${textMax} characters, a number, true or false`,
  clickhouseType: 'String',
  read: (value) => {
    if (typeof value === 'string') return value.length <= textMax ? value : undefined;
    if (typeof value === 'number') return textOfNumber(value);
    return typeof value === 'boolean' ? String(value) : undefined;
  },
  fromText: (text) => text,
  tests: {
    oneOf: (key, vs, values) => {
      const hash = `cityHash64(${key}, value)`;
      const hasAny = (column: string, stored: string) => `hasAny(${column}, arrayMap(value -> ${stored}, ${vs}))`;
      const short = hasAny('short_attribute_hashes', `reinterpretAsFixedString(${hash})`);
      const long = hasAny('long_attribute_hashes', `bitAnd(${hash}, 0xFFFFFFFFFFFF)`);
      return [...(values.some(mayBeShort) ? [short] : []), ...(values.some(mayBeLong) ? [long] : [])].join(' OR ');
    },
    present: (key) =>
      [...scalarMaps, 'attributes_other'].map((map) => `mapContains(${map}, ${key})`).join(' OR ') +
      ` OR ${key} IN (input_attribute, output_attribute)`,
    contains: (key, v) => `position(${valueAt(key)}, ${v}) > 0`,
    startsWith: (key, v) => `startsWith(${valueAt(key)}, ${v})`,
    gt: (key, v) => `${numberAt(key)} > toFloat64OrNull(${v})`,
    gte: (key, v) => `${numberAt(key)} >= toFloat64OrNull(${v})`,
    lt: (key, v) => `${numberAt(key)} < toFloat64OrNull(${v})`,
    lte: (key, v) => `${numberAt(key)} <= toFloat64OrNull(${v})`,
  },
};

/** Returns the text that ClickHouse's `toString` writes for a number. JavaScript writes 1e+21 and 0 instead of 1e21 and -0. */
function textOfNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value).replace('e+', 'e');
}

const scalarMaps = ['attributes_string', 'attributes_int', 'attributes_double', 'attributes_bool'];

function mayBeShort(value: unknown): boolean {
  return Buffer.byteLength(String(value)) <= shortBytesMax;
}

function mayBeLong(value: unknown): boolean {
  const text = String(value);
  return !mayBeShort(text) || (text.length > shortDoubleBytesMax && numeric.test(text));
}

/**
 * Returns SQL of the attribute's value as text. It is NULL when the span has no such attribute, so
 * that no test is true.
 */
function valueAt(key: string): string {
  const branches = scalarMaps.map((map) => `mapContains(${map}, ${key}), toString(${map}[${key}])`);
  const referred = ['input', 'output'].map((text) => `${key} = ${text}_attribute, ${text}`);
  return `multiIf(${[...branches, ...referred].join(', ')}, NULL)`;
}

const numberAt = (key: string) => `toFloat64OrNull(${valueAt(key)})`;
