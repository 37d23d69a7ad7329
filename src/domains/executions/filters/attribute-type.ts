import type { FieldType } from './field-types.ts';

const textMax = 10_000;

/**
 * A scalar attribute of any OTLP type, compared as text and in order as number. As `x` its tests take the bound key, and they run
 * over `spans`. Only `oneOf` is answered by `attribute_hashes`; the others read the attributes themselves.
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
    oneOf: (key, vs) => `hasAny(attribute_hashes, arrayMap(value -> cityHash64(${key}, value), ${vs}))`,
    present: (key) => [...scalarMaps, 'attributes_other'].map((map) => `mapContains(${map}, ${key})`).join(' OR '),
    contains: (key, v) => `position(${valueAt(key)}, ${v}) > 0`,
    startsWith: (key, v) => `startsWith(${valueAt(key)}, ${v})`,
    gt: (key, v) => `${numberOf(key)} > toFloat64OrNull(${v})`,
    gte: (key, v) => `${numberOf(key)} >= toFloat64OrNull(${v})`,
    lt: (key, v) => `${numberOf(key)} < toFloat64OrNull(${v})`,
    lte: (key, v) => `${numberOf(key)} <= toFloat64OrNull(${v})`,
  },
};

const scalarMaps = ['attributes_string', 'attributes_int', 'attributes_double', 'attributes_bool'];

/** Null where the span has no such attribute, so that no test holds. */
function valueAt(key: string): string {
  const branches = scalarMaps.map((map) => `mapContains(${map}, ${key}), toString(${map}[${key}])`);
  return `multiIf(${branches.join(', ')}, NULL)`;
}

const numberOf = (key: string) => `toFloat64OrNull(${valueAt(key)})`;
