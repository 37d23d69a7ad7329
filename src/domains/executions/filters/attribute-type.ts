import type { FieldType } from './field-types.ts';

const textMax = 10_000;

/** Where the hash of an attribute stands, as the migrations `execution_search` and `stored_attribute_hashes` say: by the bytes of its value as text. */
const shortBytesMax = 20;
const shortDoubleBytesMax = 6;

/** As `toString` of ClickHouse writes numbers. */
const numeric = /^-?(\d|inf|nan)/;

/**
 * A scalar attribute of any OTLP type, compared as text and in order as number. As `x` its tests take the bound key, and they run
 * over `spans`. Only `oneOf` is answered by indexes; the others read the attributes themselves.
 */
export const attribute: FieldType = {
  expects: `a text of at most ${textMax} characters, a number or true or false`,
  clickhouseType: 'String',
  read: (value) => {
    if (typeof value === 'string') return value.length <= textMax ? value : undefined;
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
  },
  fromText: (text) => text,
  tests: {
    oneOf: (key, vs, values) => {
      const hashes = (type: string) => `arrayMap(value -> ${type}(cityHash64(${key}, value)), ${vs})`;
      const short = `hasAny(short_attribute_hashes, ${hashes('reinterpretAsFixedString')})`;
      const long = `hasAny(long_attribute_hashes, ${hashes('toUInt64')})`;
      return [...(values.some(mayBeShort) ? [short] : []), ...(values.some(mayBeLong) ? [long] : [])].join(' OR ');
    },
    present: (key) => [...scalarMaps, 'attributes_other'].map((map) => `mapContains(${map}, ${key})`).join(' OR '),
    contains: (key, v) => `position(${valueAt(key)}, ${v}) > 0`,
    startsWith: (key, v) => `startsWith(${valueAt(key)}, ${v})`,
    gt: (key, v) => `${numberAt(key)} > toFloat64OrNull(${v})`,
    gte: (key, v) => `${numberAt(key)} >= toFloat64OrNull(${v})`,
    lt: (key, v) => `${numberAt(key)} < toFloat64OrNull(${v})`,
    lte: (key, v) => `${numberAt(key)} <= toFloat64OrNull(${v})`,
  },
};

const scalarMaps = ['attributes_string', 'attributes_int', 'attributes_double', 'attributes_bool'];

function mayBeShort(value: unknown): boolean {
  return Buffer.byteLength(String(value)) <= shortBytesMax;
}

function mayBeLong(value: unknown): boolean {
  const text = String(value);
  return !mayBeShort(text) || (text.length > shortDoubleBytesMax && numeric.test(text));
}

/** Null where the span has no such attribute, so that no test holds. */
function valueAt(key: string): string {
  const branches = scalarMaps.map((map) => `mapContains(${map}, ${key}), toString(${map}[${key}])`);
  return `multiIf(${branches.join(', ')}, NULL)`;
}

const numberAt = (key: string) => `toFloat64OrNull(${valueAt(key)})`;
